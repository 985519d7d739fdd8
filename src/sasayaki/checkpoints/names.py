"""Canonical form of a Whisper model: dimensions, weight names with shapes, and the check of a complete set.

The names and shapes are those of openai/whisper's state dict. Every format maps to them and to nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sasayaki.errors import CheckpointError

Weights = Mapping[str, npt.NDArray[np.floating]]


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
        weights: canonical name to array, float32 or float16 (stored bf16 and integer weights are widened exactly
            to float32). Arrays may be read-only views of a memory map.
        alignment_heads: (layer, head) pairs whose cross-attention follows the audio, or None when unknown.
        suppress_tokens: token ids that the model's authors never want sampled, or None when the format has none.
        vocabulary: bytes of every text token to its id, or None when the format has none.
        source: where it was read from, for messages.
    """

    dims: ModelDimensions
    weights: Weights = field(repr=False)
    alignment_heads: tuple[tuple[int, int], ...] | None = None
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


def check_weights(dims: ModelDimensions, weights: Weights, source: str) -> None:
    """Raise one CheckpointError that lists all missing, unexpected and misshaped weights, if there are any."""
    problems = list(_problems(canonical_shapes(dims), weights))
    if problems:
        shown = problems[:15] + ([f"… and {len(problems) - 15} more"] if len(problems) > 15 else [])
        raise CheckpointError(
            f"{source} is not a complete Whisper model of {dims}:\n  " + "\n  ".join(shown)
        )


def _problems(expected: Mapping[str, tuple[int, ...]], weights: Weights) -> Iterator[str]:
    for name, shape in expected.items():
        if name not in weights:
            yield f"missing: {name} {shape}"
        elif tuple(weights[name].shape) != shape:
            yield f"wrong shape: {name} is {tuple(weights[name].shape)}, expected {shape}"
    for name in weights:
        if name not in expected:
            yield f"unexpected: {name} {tuple(weights[name].shape)}"


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
