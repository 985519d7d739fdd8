"""Whisper in plain NumPy, one audio and one row at a time, without a cache: the slow twin of the engines.

It follows the paper (Radford et al., 2022, section 2.2): a Transformer encoder and decoder with pre-norm
residual blocks, exact GELU, and an output projection tied to the token embedding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import Checkpoint

Floats = npt.NDArray[np.floating]

_erf = np.vectorize(math.erf, otypes=[np.float64])


@dataclass(frozen=True)
class NumpyWhisper:
    """The model of a checkpoint, computed in `dtype`."""

    checkpoint: Checkpoint
    dtype: type[np.floating] = np.float64

    def encode(self, mel: Floats, positions: Sequence[int] | None = None) -> Floats:
        """Encoder output, (n_ctx, n_audio_state), of one log-mel window, (n_mels, n_frames).

        With `positions`, (n_ctx,), each counts in attention once more for every two that are left out beside it.
        """
        dims = self.checkpoint.dims
        x = gelu(self._conv("encoder.conv1", mel.astype(self.dtype), stride=1))
        x = gelu(self._conv("encoder.conv2", x, stride=2)).T
        kept = list(range(len(x)) if positions is None else positions)
        left_out = np.array([after - before - 1 for before, after in itertools.pairwise(kept)])
        times = 1 + np.append(left_out, 0) / 2 + np.append(0, left_out) / 2
        x = x + self._weight("encoder.positional_embedding")[kept]
        for layer in range(dims.n_audio_layer):
            block = f"encoder.blocks.{layer}"
            h = self._layer_norm(f"{block}.attn_ln", x)
            x = x + self._attention(f"{block}.attn", h, h, dims.n_audio_head, times=times)
            x = x + self._mlp(block, x)
        return self._layer_norm("encoder.ln_post", x)

    def logits(self, tokens: Sequence[int], features: Floats) -> Floats:
        """Logits after each token, (n_tokens, n_vocab), listening to `features` (n_ctx, n_audio_state)."""
        dims = self.checkpoint.dims
        embedding = self._weight("decoder.token_embedding.weight")
        features = features.astype(self.dtype)
        x = embedding[list(tokens)] + self._weight("decoder.positional_embedding")[: len(tokens)]
        for layer in range(dims.n_text_layer):
            block = f"decoder.blocks.{layer}"
            h = self._layer_norm(f"{block}.attn_ln", x)
            x = x + self._attention(f"{block}.attn", h, h, dims.n_text_head, is_causal=True)
            h = self._layer_norm(f"{block}.cross_attn_ln", x)
            x = x + self._attention(f"{block}.cross_attn", h, features, dims.n_text_head)
            x = x + self._mlp(block, x)
        return self._layer_norm("decoder.ln", x) @ embedding.T

    def _weight(self, name: str) -> Floats:
        return self.checkpoint.weights[name].astype(self.dtype)

    def _linear(self, name: str, x: Floats) -> Floats:
        y = x @ self._weight(f"{name}.weight").T
        return y + self._weight(f"{name}.bias") if f"{name}.bias" in self.checkpoint.weights else y

    def _layer_norm(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * self._weight(f"{name}.weight") + self._weight(f"{name}.bias")

    def _mlp(self, block: str, x: Floats) -> Floats:
        h = self._layer_norm(f"{block}.mlp_ln", x)
        return self._linear(f"{block}.mlp.2", gelu(self._linear(f"{block}.mlp.0", h)))

    def _attention(
        self,
        name: str,
        x: Floats,
        source: Floats,
        n_head: int,
        *,
        is_causal: bool = False,
        times: Floats | None = None,
    ) -> Floats:
        """Queries from `x` (n, n_state) look at keys and values from `source` (m, n_source), each so many `times`."""
        query = self._linear(f"{name}.query", x)
        key = self._linear(f"{name}.key", source)
        value = self._linear(f"{name}.value", source)
        heads = []
        for q, k, v in zip(*(np.split(a, n_head, axis=1) for a in (query, key, value)), strict=True):
            scores = q @ k.T / math.sqrt(q.shape[1])
            if is_causal:
                scores[np.triu_indices(len(scores), k=1)] = -np.inf
            weights = softmax(scores) * (1 if times is None else times)
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ v)
        return self._linear(f"{name}.out", np.concatenate(heads, axis=1))

    def _conv(self, name: str, x: Floats, *, stride: int) -> Floats:
        """Convolution of width 3 over `x` (n_in, n_frames), with one zero frame before and after."""
        weight = self._weight(f"{name}.weight")
        padded = np.pad(x, ((0, 0), (1, 1)))
        columns = [
            np.einsum("oik,ik->o", weight, padded[:, start : start + 3]) for start in range(0, x.shape[1], stride)
        ]
        return np.stack(columns, axis=1) + self._weight(f"{name}.bias")[:, None]


def gelu(x: Floats) -> Floats:
    """Exact GELU: x times the normal distribution function of x."""
    return (x * 0.5 * (1 + _erf(x / math.sqrt(2)))).astype(x.dtype)


def softmax(x: Floats) -> Floats:
    """Softmax over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
