"""Canonical form of a Whisper model: dimensions, weight names with shapes, and the check of a complete set.

The names and shapes are those of openai/whisper's state dict. Every format maps to them and to nothing else,
and ends in `build_checkpoint`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from sasayaki.errors import CheckpointError

Weights = Mapping[str, npt.NDArray[np.floating]]

ENCODER_POSITIONS = "encoder.positional_embedding"

# Far above any Whisper model; a damaged header must not make us build millions of names.
_LIMITS = {"n_audio_ctx": 1 << 16, "n_text_ctx": 1 << 16, "n_audio_layer": 256, "n_text_layer": 256}
_LIMIT = 1 << 20
_SHOWN_PER_KIND = 5


@dataclass(frozen=True, slots=True)
class ModelDimensions:
    """Sizes of a Whisper model, with openai/whisper's field names."""

    n_mels: int
    n_audio_ctx: int
    n_audio_state: int
    n_audio_head: int
    n_audio_layer: int
    n_vocab: int
    n_text_ctx: int
    n_text_state: int
    n_text_head: int
    n_text_layer: int

    @property
    def is_multilingual(self) -> bool:
        """Whether the vocabulary has language tokens in use (51865 tokens or more)."""
        return self.n_vocab >= 51865

    @property
    def num_languages(self) -> int:
        """Number of language tokens: 99, or 100 with Cantonese."""
        return self.n_vocab - 51765 - int(self.is_multilingual)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model as read from a file, in canonical form.

    Attributes:
        dims: sizes of the model.
        weights: canonical name to array, float32 or float16 (stored bf16 and integer weights are widened to
            float32). Arrays may be read-only, unaligned views of a memory map.
        alignment_heads: (layer, head) pairs whose cross-attention follows the audio, or None when unknown.
        head_lags: seconds from the start of a word to where each of these heads looks, or None when nobody measured.
        suppress_tokens: token ids that the authors never want sampled, or None when the format has none.
        vocabulary: bytes of every text token to its id, or None when the format has none.
        source: where it was read from, for messages.
    """

    dims: ModelDimensions
    weights: Weights = field(repr=False)
    alignment_heads: tuple[tuple[int, int], ...] | None = None
    head_lags: tuple[float, ...] | None = None
    suppress_tokens: tuple[int, ...] | None = None
    vocabulary: Mapping[bytes, int] | None = field(default=None, repr=False)
    source: str = ""


def canonical_shapes(dims: ModelDimensions) -> dict[str, tuple[int, ...]]:
    """Every canonical weight name of a model of these dimensions, with its shape."""
    audio, text = dims.n_audio_state, dims.n_text_state
    shapes: dict[str, tuple[int, ...]] = {
        "encoder.conv1.weight": (audio, dims.n_mels, 3),
        "encoder.conv1.bias": (audio,),
        "encoder.conv2.weight": (audio, audio, 3),
        "encoder.conv2.bias": (audio,),
        "encoder.positional_embedding": (dims.n_audio_ctx, audio),
        "encoder.ln_post.weight": (audio,),
        "encoder.ln_post.bias": (audio,),
        "decoder.token_embedding.weight": (dims.n_vocab, text),
        "decoder.positional_embedding": (dims.n_text_ctx, text),
        "decoder.ln.weight": (text,),
        "decoder.ln.bias": (text,),
    }
    for layer in range(dims.n_audio_layer):
        shapes |= _block_shapes(f"encoder.blocks.{layer}", audio, audio, has_cross=False)
    for layer in range(dims.n_text_layer):
        shapes |= _block_shapes(f"decoder.blocks.{layer}", text, audio, has_cross=True)
    return shapes


def build_checkpoint(
    dims: ModelDimensions,
    weights: Weights,
    source: str,
    *,
    alignment_heads: tuple[tuple[int, int], ...] | None = None,
    head_lags: tuple[float, ...] | None = None,
    suppress_tokens: tuple[int, ...] | None = None,
    vocabulary: Mapping[bytes, int] | None = None,
) -> Checkpoint:
    """The checkpoint of a complete and well-formed model; the encoder's fixed positions are added if absent.

    Alignment heads that the model does not have (distilled models copy their teacher's) count as unknown.

    Raises:
        CheckpointError: the dimensions make no sense, or weights are missing, unexpected or misshaped.
    """
    check_dimensions(dims, source)
    if ENCODER_POSITIONS not in weights:
        width, length = dims.n_audio_state, dims.n_audio_ctx
        check_weights(dims, {**weights, ENCODER_POSITIONS: _placeholder(length, width)}, source)
        weights = {**weights, ENCODER_POSITIONS: sinusoids(length, width)}
    else:
        check_weights(dims, weights, source)
    heads = alignment_heads or ()
    if not heads or any(not (0 <= layer < dims.n_text_layer and 0 <= head < dims.n_text_head) for layer, head in heads):
        alignment_heads = head_lags = None
    return Checkpoint(dims, weights, alignment_heads, head_lags, suppress_tokens, vocabulary, source)


def sinusoids(length: int, channels: int) -> npt.NDArray[np.float32]:
    """Fixed positions of the encoder, float32 (length, channels): sines, then cosines, of falling frequency.

    Wavelengths go from 2π to 10000·2π, after "Attention is all you need", section 3.5.
    """
    half = channels // 2
    # In float32 throughout, as the authors did: one rounding more or less shows after 1500 positions.
    step = np.float32(-math.log(10000) / max(half - 1, 1))
    frequencies = np.exp(step * np.arange(half, dtype=np.float32))
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def check_dimensions(dims: ModelDimensions, source: str) -> None:
    """Raise a CheckpointError when a size is no whole number in a sensible range or heads do not divide."""
    sizes = asdict(dims)
    problems = [
        f"{name} is {value!r}, expected a whole number from 1 to {_LIMITS.get(name, _LIMIT)}"
        for name, value in sizes.items()
        if type(value) is not int or not 1 <= value <= _LIMITS.get(name, _LIMIT)
    ]
    if not problems:
        problems = [
            f"n_{side}_state {sizes[f'n_{side}_state']} is not a multiple of n_{side}_head {head}"
            for side in ("audio", "text")
            if sizes[f"n_{side}_state"] % (head := sizes[f"n_{side}_head"])
        ]
    if problems:
        raise CheckpointError(f"{source} has no usable model dimensions:\n  " + "\n  ".join(problems))


def check_weights(dims: ModelDimensions, weights: Weights, source: str) -> None:
    """Raise one CheckpointError that lists missing, unexpected and misshaped weights (a few of each kind)."""
    problems = _problems(canonical_shapes(dims), weights)
    lines = []
    for kind, found in problems.items():
        lines += [f"{kind}: {text}" for text in found[:_SHOWN_PER_KIND]]
        if len(found) > _SHOWN_PER_KIND:
            lines.append(f"{kind}: … and {len(found) - _SHOWN_PER_KIND} more")
    if lines:
        raise CheckpointError(f"{source} is not a complete Whisper model of {dims}:\n  " + "\n  ".join(lines))


def _problems(expected: Mapping[str, tuple[int, ...]], weights: Weights) -> dict[str, list[str]]:
    """Kind of problem to descriptions of the weights that have it."""
    present = [name for name in expected if name in weights]
    return {
        "missing": [f"{name} {shape}" for name, shape in expected.items() if name not in weights],
        "wrong shape": [
            f"{name} is {weights[name].shape}, expected {expected[name]}"
            for name in present
            if weights[name].shape != expected[name]
        ],
        "wrong type": [
            f"{name} is {weights[name].dtype}, expected float32 or float16"
            for name in present
            if weights[name].dtype not in (np.float32, np.float16)
        ],
        "unexpected": [f"{name} {array.shape}" for name, array in weights.items() if name not in expected],
    }


def _placeholder(*shape: int) -> npt.NDArray[np.float32]:
    """A read-only float32 array of that shape which takes no memory."""
    return np.broadcast_to(np.float32(0), shape)


def _block_shapes(prefix: str, state: int, source: int, *, has_cross: bool) -> dict[str, tuple[int, ...]]:
    """Shapes of one residual block; `source` is the width of what cross-attention reads."""
    shapes = _attention_shapes(f"{prefix}.attn", state, state)
    if has_cross:
        shapes |= _attention_shapes(f"{prefix}.cross_attn", state, source)
    shapes[f"{prefix}.mlp.0.weight"] = (4 * state, state)
    shapes[f"{prefix}.mlp.0.bias"] = (4 * state,)
    shapes[f"{prefix}.mlp.2.weight"] = (state, 4 * state)
    shapes[f"{prefix}.mlp.2.bias"] = (state,)
    shapes[f"{prefix}.mlp_ln.weight"] = shapes[f"{prefix}.mlp_ln.bias"] = (state,)
    return shapes


def _attention_shapes(prefix: str, state: int, source: int) -> dict[str, tuple[int, ...]]:
    """Shapes of an attention and its layer norm; the key projection has no bias."""
    return {
        f"{prefix}.query.weight": (state, state),
        f"{prefix}.query.bias": (state,),
        f"{prefix}.key.weight": (state, source),
        f"{prefix}.value.weight": (state, source),
        f"{prefix}.value.bias": (state,),
        f"{prefix}.out.weight": (state, state),
        f"{prefix}.out.bias": (state,),
        f"{prefix}_ln.weight": (state,),
        f"{prefix}_ln.bias": (state,),
    }
