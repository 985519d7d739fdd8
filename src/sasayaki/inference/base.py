"""The protocol between the decoder and the engines: rows in, logits out.

A *row* is one living hypothesis. Rows are ragged: each has its own audio, its own length and its own new tokens.
Search never sees a cache: it says for each next row which earlier row it continues (`Row.source`), and the session
moves its cache accordingly. Rows that no next row names are gone; a row without a source starts empty, at any time,
beside rows that go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sasayaki.checkpoints.names import ModelDimensions

Array = Any
"""A NumPy array or a torch tensor, whichever the engine works with; handled through `array_api_compat`."""


class AudioFeatures(Protocol):
    """One encoded window of audio. Engines keep what they need beside it (projected cross-attention keys, …)."""

    @property
    def array(self) -> Array:
        """Encoder output, (n_audio_ctx, n_audio_state) in the engine's own array type, floating point."""
        ...


@dataclass(frozen=True, slots=True)
class Row:
    """One hypothesis in the next call of `DecoderSession.forward`.

    Attributes:
        audio: the window that the row listens to, from `Inference.encode` of the same engine.
        tokens: new tokens to feed, at least one; all that came before is in the cache.
        source: index of the row of the previous call that this one continues; None starts an empty row.
            Several rows may continue the same one.
        read: positions in `tokens` whose logits are wanted (negative counts from the end).
            Rows with fewer positions than others in the call are filled up with their last one.
    """

    audio: AudioFeatures
    tokens: tuple[int, ...]
    source: int | None = None
    read: tuple[int, ...] = (-1,)


@dataclass(frozen=True, slots=True)
class Digest:
    """What an engine finds out about logits while it has them at hand.

    Attributes:
        norms: log-sum-exp of the logits at each position, (n_batch, n_read) float32.
        tokens: the likeliest tokens at each position, (n_batch, n_read, n_likeliest) integers.
        logits: theirs, highest first, (n_batch, n_read, n_likeliest) float32. No other token has a higher one than the
            last of them; among equals, tokens come in any order.
    """

    norms: Array
    tokens: Array
    logits: Array

    def rows(self, start: int, stop: int) -> Digest:
        """What belongs to some of the rows."""
        return Digest(self.norms[start:stop], self.tokens[start:stop], self.logits[start:stop])


class DecoderSession(Protocol):
    """A running decode with its key and value cache. Not for use by two threads at a time."""

    def forward(self, rows: Sequence[Row]) -> Array:
        """Feed the new tokens of all rows and return logits, (n_batch, n_read, n_vocab) float32.

        The array may be overwritten by the next call. The caller may change it in place.
        A row never grows past n_text_ctx tokens; asking for more raises ValueError.
        """
        ...

    def close(self) -> None:
        """Free the cache. Safe to call twice; `forward` afterwards raises RuntimeError."""
        ...


@runtime_checkable
class DigestingSession(Protocol):
    """What a session may offer beside `DecoderSession`, so that a step need not look at all logits."""

    def digest(self) -> Digest:
        """Of the logits that the last call of `forward` has returned, before anybody changes them."""
        ...


class Inference(Protocol):
    """A loaded model: encoder and decoder. May be shared by threads, each with its own sessions."""

    @property
    def dims(self) -> ModelDimensions:
        """Sizes of the model."""
        ...

    def encode(self, mel: Array, positions: Array | None = None) -> list[AudioFeatures]:
        """Encode log-mel windows, (n_audio, n_mels, n_frames) float, into one AudioFeatures each.

        Args:
            mel: n_frames is 2 * n_audio_ctx (3000) for a full window. A shorter one has a shorter context.
            positions: where the two frames of each step stand in a full window, (n_audio, ceil(n_frames / 2)) integers
                that increase; None takes the first ones. What is kept stands for what is left out beside it
                (`inference.positions.log_shares`), which should be alike: silence.
        """
        ...

    def wrap(self, features: Array) -> list[AudioFeatures]:
        """Take encoder outputs made earlier, (n_audio, n_audio_ctx, n_audio_state) float, as AudioFeatures."""
        ...

    def start(self) -> DecoderSession:
        """Begin a decode with an empty cache."""
        ...


@runtime_checkable
class AlignmentInference(Protocol):
    """What an engine may offer beside `Inference`: where attention looks. Not for the inner loop of a decode."""

    def cross_attention(
        self, audio: AudioFeatures, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> Array:
        """Feed all tokens at once, and give the weights of the heads' cross-attention.

        Args:
            audio: the window, from `Inference.encode` of the same engine.
            tokens: 1 to n_text_ctx ids.
            heads: (layer, head) pairs.

        Returns:
            (n_head, n_tokens, n_audio_ctx) float32, at least 0; those of a head and token sum to 1.
        """
        ...
