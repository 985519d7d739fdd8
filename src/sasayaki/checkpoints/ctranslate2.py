"""Reads CTranslate2's model.bin: header, named variables, aliases.

Query, key and value projections are stored as one matrix and are split here; int8 and int16 weights come with
a scale and are widened to float32 as `stored / scale`. Alignment heads and vocabulary lie in files beside it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.file_bytes import BFLOAT16, Cursor, FileBytes
from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, build_checkpoint
from sasayaki.checkpoints.side_files import SideFiles, alignment_heads, head_lags, token_ids
from sasayaki.checkpoints.vocabulary import read_vocabulary
from sasayaki.errors import CheckpointError

Variables = dict[str, npt.NDArray[Any]]

BINARY_VERSION = 6
SPEC_NAME = "WhisperSpec"

_DTYPES = ("float32", "int8", "int16", "int32", "float16", BFLOAT16)
_LEAVES = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias", "encodings": ""}
_PROJECTION = "decoder/projection/weight"
_EMBEDDING = "decoder/embeddings/weight"

_OUTSIDE_LAYERS = {
    "encoder/conv1": ("encoder.conv1",),
    "encoder/conv2": ("encoder.conv2",),
    "encoder/position_encodings": ("encoder.positional_embedding",),
    "encoder/layer_norm": ("encoder.ln_post",),
    "decoder/embeddings": ("decoder.token_embedding",),
    "decoder/position_encodings": ("decoder.positional_embedding",),
    "decoder/layer_norm": ("decoder.ln",),
}

# Module of a layer to the canonical modules that its rows hold, in equal shares.
_IN_LAYERS = {
    "self_attention/layer_norm": ("attn_ln",),
    "self_attention/linear_0": ("attn.query", "attn.key", "attn.value"),
    "self_attention/linear_1": ("attn.out",),
    "attention/layer_norm": ("cross_attn_ln",),
    "attention/linear_0": ("cross_attn.query",),
    "attention/linear_1": ("cross_attn.key", "cross_attn.value"),
    "attention/linear_2": ("cross_attn.out",),
    "ffn/layer_norm": ("mlp_ln",),
    "ffn/linear_0": ("mlp.0",),
    "ffn/linear_1": ("mlp.2",),
}


def read_ctranslate2(data: FileBytes) -> Checkpoint:
    """Read a CTranslate2 Whisper model of any weight type.

    Raises:
        CheckpointError: the file is damaged, of another kind, or its output layer is not the embedding.
    """
    variables = _without_projection(_read_variables(data), data.source)
    weights: Variables = {}
    for name, array in _dequantised(variables, data.source).items():
        if array.ndim:
            weights |= _canonical(name, array, data.source)
    files = SideFiles(data.folders)
    config = files.mapping("config.json")
    return build_checkpoint(
        _dimensions(variables, weights, data.source),
        weights,
        data.source,
        alignment_heads=alignment_heads(config, data.source),
        head_lags=head_lags(config, data.source),
        suppress_tokens=token_ids(config, "suppress_ids", data.source),
        vocabulary=read_vocabulary(files),
    )


def is_ctranslate2(data: FileBytes) -> bool:
    """Whether the file begins as a CTranslate2 model of any kind: a version, then a name ending in Spec."""
    length = int.from_bytes(data.view(4, 2), "little") if data.size >= 6 else 0
    return 0 < length < 100 and data.size >= 6 + length and bytes(data.view(6, length)).endswith(b"Spec\0")


def _read_variables(data: FileBytes) -> Variables:
    """All variables by their own names, as views of the file, with aliases resolved."""
    cursor = Cursor(data)
    version, spec = cursor.number("I"), _text(cursor)
    if version != BINARY_VERSION or spec != SPEC_NAME:
        raise CheckpointError(
            f"{data.source} is a CTranslate2 model of kind {spec} in version {version} of the format; "
            f"expected {SPEC_NAME} in version {BINARY_VERSION}: convert the model again"
        )
    cursor.number("I")  # the revision of the kind
    variables: Variables = {}
    for _ in range(cursor.number("I")):
        name = _text(cursor)
        shape = cursor.unpack(f"{cursor.number('B')}I")
        kind, size = cursor.unpack("BI")
        if kind >= len(_DTYPES):
            raise CheckpointError(f"{data.source}: {name} has unknown type {kind}; fetch the file again")
        variables[name] = data.array(_DTYPES[kind], shape, cursor.offset)
        cursor.take(size)
    for _ in range(cursor.number("I")):
        alias, name = _text(cursor), _text(cursor)
        if name not in variables:
            raise CheckpointError(f"{data.source}: {alias} stands for {name}, which is absent; fetch it again")
        variables[alias] = variables[name]
    return variables


def _text(cursor: Cursor) -> str:
    return bytes(cursor.take(cursor.number("H"))).rstrip(b"\0").decode("utf-8", errors="replace")


def _dequantised(variables: Variables, source: str) -> Variables:
    """The variables without scales; whole numbers that have a scale become float32."""
    result: Variables = {}
    for name, array in variables.items():
        if name.endswith("_scale"):
            continue
        scale = variables.get(f"{name}_scale")
        if scale is not None and array.dtype.kind == "i":
            array = _scaled(array, scale, f"{source}: {name}")
        result[name] = array
    return result


def _scaled(stored: npt.NDArray[Any], scale: npt.NDArray[Any], what: str) -> npt.NDArray[np.float32]:
    """Divide by the scale in float32, with one scale for the whole array or one per row."""
    if scale.size != 1 and scale.shape != stored.shape[:1]:
        raise CheckpointError(f"{what} {stored.shape} has scales {scale.shape}; fetch the file again")
    per_row = scale.astype(np.float32).reshape(-1, *(1,) * (stored.ndim - 1))
    with np.errstate(all="ignore"):  # a damaged scale gives infinities, not warnings
        return stored.astype(np.float32) / per_row


def _canonical(name: str, array: npt.NDArray[Any], source: str) -> Variables:
    """The canonical weights that a variable holds; an unknown one keeps its name, to be reported."""
    module, _, leaf = name.rpartition("/")
    suffix = _LEAVES.get(leaf)
    layer = re.fullmatch(r"(encoder|decoder)/layer_(\d{1,9})/(.+)", module)
    prefix = f"{layer[1]}.blocks.{int(layer[2])}." if layer else ""
    targets = _IN_LAYERS.get(layer[3]) if layer else _OUTSIDE_LAYERS.get(module)
    if suffix is None or not targets:
        return {name: array}
    if array.shape[0] % len(targets):
        raise CheckpointError(f"{source}: {name} {array.shape} does not split in {len(targets)} equal parts")
    names = [".".join(filter(None, (f"{prefix}{target}", suffix))) for target in targets]
    shares = dict(zip(names, np.split(array, len(targets)), strict=True))
    # A bias of the keys adds the same to all scores of a query, so softmax removes it: Whisper has none.
    return {name: share for name, share in shares.items() if not name.endswith(".key.bias")}


def _without_projection(variables: Variables, source: str) -> Variables:
    """Drop the output layer, which must be the token embedding: usually an alias, at least equal."""
    projection, embedding = variables.get(_PROJECTION), variables.get(_EMBEDDING)
    others = {name: array for name, array in variables.items() if not name.startswith(_PROJECTION)}
    if projection is None or embedding is None or projection is embedding:
        return others
    if not np.array_equal(projection, embedding):
        raise CheckpointError(f"{source} has an output layer other than its embedding: they must be equal")
    return others


def _dimensions(variables: Variables, weights: Variables, source: str) -> ModelDimensions:
    """Sizes read off the shapes, and the numbers of heads, which the file stores."""

    def size(name: str, axis: int) -> int:
        if name not in weights or weights[name].ndim <= axis:
            raise CheckpointError(f"{source} lacks {name} with {axis + 1} axes or more: it is incomplete")
        return int(weights[name].shape[axis])

    def heads(side: str) -> int:
        stored = variables.get(f"{side}/num_heads")
        if stored is None or stored.ndim or stored.dtype.kind != "i":
            raise CheckpointError(f"{source} lacks a whole {side}/num_heads: convert it with a newer CTranslate2")
        return int(stored)

    def layers(side: str) -> int:
        numbers = [re.match(rf"{side}\.blocks\.(\d+)\.", name) for name in weights]
        return max((int(number[1]) + 1 for number in numbers if number), default=0)

    return ModelDimensions(
        n_mels=size("encoder.conv1.weight", 1),
        n_audio_ctx=size("encoder.positional_embedding", 0),
        n_audio_state=size("encoder.positional_embedding", 1),
        n_audio_head=heads("encoder"),
        n_audio_layer=layers("encoder"),
        n_vocab=size("decoder.token_embedding.weight", 0),
        n_text_ctx=size("decoder.positional_embedding", 0),
        n_text_state=size("decoder.positional_embedding", 1),
        n_text_head=heads("decoder"),
        n_text_layer=layers("decoder"),
    )
