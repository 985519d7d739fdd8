"""Reads whisper.cpp's single-file models: sizes, mel filters, token table, tensors (plain or quantised).

All numbers are little-endian; tensors have openai/whisper's names and list their sizes from the last axis to
the first. The mel filters are skipped: they are the same for every model and computed in `audio.mel`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.file_bytes import BFLOAT16, Cursor, FileBytes
from sasayaki.checkpoints.ggml_blocks import BLOCK, BLOCK_TYPES, dequantise
from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, build_checkpoint
from sasayaki.checkpoints.vocabulary import END_OF_TEXT
from sasayaki.errors import CheckpointError

MAGIC = b"lmgg"  # 0x67676d6c
LAYOUT_FACTOR, LAYOUT_VERSION = 1000, 2
"""The header's type is this factor times the version of the blocks' layout, plus ggml's own number."""

_PLAIN_TYPES = {0: "float32", 1: "float16", 30: BFLOAT16}
_MAX_AXES = 4


def is_ggml(data: FileBytes) -> bool:
    """Whether the file begins with ggml's magic number."""
    return data.size >= 4 and bytes(data.view(0, 4)) == MAGIC


def read_ggml(data: FileBytes) -> Checkpoint:
    """Read a whisper.cpp model; quantised tensors become float32.

    Raises:
        CheckpointError: the file is damaged, incomplete, or quantised in a way that is not supported.
    """
    cursor = Cursor(data, len(MAGIC))
    n_vocab, *sizes, n_mels, kind = cursor.unpack("11i")
    dims = _dimensions(n_vocab, sizes, n_mels)
    n_filters, n_frequencies = cursor.unpack("2I")
    cursor.take(4 * n_filters * n_frequencies)
    vocabulary = _read_tokens(cursor)
    weights: dict[str, npt.NDArray[Any]] = {}
    while not cursor.at_end:
        name, tensor = _read_tensor(cursor, kind // LAYOUT_FACTOR)
        weights[name] = tensor
    return build_checkpoint(dims, weights, data.source, vocabulary=vocabulary)


def _dimensions(n_vocab: int, sizes: list[int], n_mels: int) -> ModelDimensions:
    audio_ctx, audio_state, audio_head, audio_layer, text_ctx, text_state, text_head, text_layer = sizes
    return ModelDimensions(
        n_mels=n_mels,
        n_audio_ctx=audio_ctx,
        n_audio_state=audio_state,
        n_audio_head=audio_head,
        n_audio_layer=audio_layer,
        n_vocab=n_vocab,
        n_text_ctx=text_ctx,
        n_text_state=text_state,
        n_text_head=text_head,
        n_text_layer=text_layer,
    )


def _read_tokens(cursor: Cursor) -> dict[bytes, int] | None:
    """Bytes to id of the text tokens: those before the end of text, of which most files list no more."""
    tokens = [bytes(cursor.take(cursor.number("I"))) for _ in range(cursor.number("I"))]
    end = END_OF_TEXT.encode()
    texts = tokens[: tokens.index(end)] if end in tokens else tokens
    return {token: index for index, token in reversed(list(enumerate(texts)))} or None


def _read_tensor(cursor: Cursor, layout_version: int) -> tuple[str, npt.NDArray[Any]]:
    source, start = cursor.data.source, cursor.offset
    n_axes, name_size, kind = cursor.unpack("3I")
    if n_axes > _MAX_AXES:
        raise CheckpointError(f"{source} is damaged at byte {start}: a tensor of {n_axes} axes; fetch it again")
    shape = cursor.unpack(f"{n_axes}I")[::-1]
    name = bytes(cursor.take(name_size)).decode("utf-8", errors="replace")
    if kind in _PLAIN_TYPES:
        array = cursor.data.array(_PLAIN_TYPES[kind], shape, cursor.offset)
        cursor.take(math.prod(shape) * (4 if kind == 0 else 2))
    elif kind in BLOCK_TYPES:
        array = _read_blocks(cursor, kind, shape, f"{source}: {name:.80}", layout_version)
    else:
        raise CheckpointError(
            f"{source}: {name:.80} has ggml type {kind}; "
            "supported are f32, f16, bf16, q4_0, q4_1, q5_0, q5_1 and q8_0: fetch or quantise another"
        )
    # whisper.cpp stores the convolutions' biases as (n, 1), so that they broadcast over time.
    is_conv_bias = name.startswith("encoder.conv") and name.endswith(".bias")
    return name, array.reshape(-1) if is_conv_bias else array


def _read_blocks(
    cursor: Cursor, kind: int, shape: tuple[int, ...], what: str, layout_version: int
) -> npt.NDArray[np.float32]:
    if layout_version != LAYOUT_VERSION:
        raise CheckpointError(
            f"{what} is quantised in version {layout_version} of the layout, expected {LAYOUT_VERSION}: "
            "quantise the model again with a newer whisper.cpp"
        )
    if not shape or shape[-1] % BLOCK:
        raise CheckpointError(f"{what} {shape} is quantised, but its rows are no multiple of {BLOCK} long")
    block = BLOCK_TYPES[kind]
    data = cursor.take(math.prod(shape) // BLOCK * block.layout.itemsize)
    return cursor.data.shaped(dequantise(block, data), shape)
