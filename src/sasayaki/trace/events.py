"""What a trace is made of: frozen events of a transcription, its windows, its decodes and their steps.

Events hold plain values only, so that each is one line of a file. Log-probabilities are natural logarithms, rounded
to four decimals; -inf is a token that cannot be sampled.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptionStarted:
    """A recording is about to be transcribed."""

    model: str
    """Name that the model was loaded by."""

    duration: float
    """Length of the recording in seconds."""

    language: str
    """Language code that it begins with, given or detected."""

    language_probs: Mapping[str, float] | None
    """Probability of every language, when it was detected."""

    options: Mapping[str, Any] = field(repr=False)
    """The transcription's options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeStarted:
    """A window is about to be decoded, once."""

    decode: int
    """Number of the decode in the trace, from 0; its other events have the same."""

    window: int | None
    """Number of the window of a transcription, from 0; None for a decode of its own."""

    language: str
    """Language code that it is decoded in."""

    language_probs: Mapping[str, float] | None
    """Probability of every language, when it was detected for this decode."""

    initial_tokens: tuple[int, ...]
    """Prompt, start sequence and prefix."""

    initial_text: str
    """The same with special tokens spelled out."""

    stages: tuple[str, ...]
    """Names of the filters in the order in which they are applied."""

    eot: int
    """Id of the end token; smaller ids are text."""

    timestamp_begin: int
    """Id of the timestamp of 0.00 s; the ids from here on are 0.02 s apart."""

    options: Mapping[str, Any] = field(repr=False)
    """The options of the decode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BannedToken:
    """A token that a filter took away, with the probability that it had until then."""

    token: int
    text: str
    prob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterEffect:
    """What one filter did to one row."""

    n_banned: int
    """Number of tokens that were possible before it and are not after it."""

    removed: float
    """Probability of those tokens together before it."""

    n_changed: int
    """Number of tokens that it made likelier or less likely without banning them."""

    banned: tuple[BannedToken, ...]
    """The most probable of the banned tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCandidate:
    """A token that could come next."""

    token: int
    text: str

    logprobs: tuple[float, ...]
    """Its log-probability before all filters, then after each of them."""

    bonus: float = 0.0
    """What scorers added to the last of them for the search; known of tokens that were offered to it."""

    @property
    def raw_logprob(self) -> float:
        """Log-probability before the filters."""
        return self.logprobs[0]

    @property
    def logprob(self) -> float:
        """Log-probability after the filters."""
        return self.logprobs[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A living hypothesis at the start of a step, and what could follow it."""

    tokens: tuple[int, ...]
    """What it has sampled so far."""

    text: str
    """The same with special tokens spelled out."""

    sum_logprob: float
    """Sum of its tokens' log-probabilities after the filters."""

    effects: tuple[FilterEffect, ...]
    """What each filter did, in the order of `DecodeStarted.stages`."""

    candidates: tuple[StepCandidate, ...]
    """The likeliest tokens before and after the filters, and those offered to the search; likeliest after them first.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Offspring:
    """A hypothesis after a step."""

    row: int
    """Index of the row of this step that it continues."""

    token: int | None
    """The token that it added; None when it ended without one: no token was left, or it was cut back."""

    text: str
    """The text of that token."""

    sum_logprob: float
    """Sum of its tokens' log-probabilities after the filters, that of the new one included."""

    stop: str | None = None
    """Why it ended; None while it lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeStep:
    """One step of a decode: rows in, rows out."""

    decode: int

    index: int
    """Number of the step, from 0."""

    rows: tuple[StepRow, ...]
    """Living hypotheses before the step."""

    living: tuple[Offspring, ...]
    """Hypotheses that live on; they are the rows of the next step, in this order."""

    finished: tuple[Offspring, ...]
    """Hypotheses that ended in this step and were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedHypothesis:
    """A hypothesis that the search ended with."""

    tokens: tuple[int, ...]
    text: str
    score: float
    sum_logprob: float
    stop: str

    def sampled(self, eot: int) -> tuple[int, ...]:
        """Its tokens, and the end token `eot` if that ended it."""
        return (*self.tokens, eot) if self.stop == "eot" else self.tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFinished:
    """A decode is over."""

    decode: int
    text: str
    temperature: float
    avg_logprob: float
    compression_ratio: float
    no_speech_prob: float

    hypotheses: tuple[RankedHypothesis, ...]
    """Best first; the first is the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionMap:
    """Where the alignment heads looked when the tokens of a decode's result were predicted."""

    decode: int

    texts: tuple[str, ...]
    """The tokens of the result, special ones spelled out."""

    heads: tuple[tuple[int, int], ...]
    """The (layer, head) pairs that the map is the mean of."""

    n_audio_ctx: int
    """Positions of the window's audio, 0.02 s each."""

    peaks: tuple[float, ...] = field(repr=False)
    """The largest weight of each token."""

    data: bytes = field(repr=False)
    """The weights as shares of the peaks in steps of 1/255, one byte each, zlib-compressed."""

    @classmethod
    def pack(
        cls,
        weights: npt.NDArray[np.floating],
        *,
        decode: int,
        texts: tuple[str, ...],
        heads: tuple[tuple[int, int], ...],
    ) -> AttentionMap:
        """The event of `weights` (n_tokens, n_audio_ctx), which are at least 0."""
        peaks = weights.max(axis=1, keepdims=True)
        levels = np.rint(255 * weights / np.maximum(peaks, np.finfo(np.float32).tiny)).astype(np.uint8)
        rounded = tuple(round(peak, 6) for peak in peaks[:, 0].tolist())
        data = zlib.compress(levels.tobytes())
        return cls(decode=decode, texts=texts, heads=heads, n_audio_ctx=weights.shape[1], peaks=rounded, data=data)

    def weights(self) -> npt.NDArray[np.float32]:
        """The weights, (n_tokens, n_audio_ctx) float32."""
        levels = np.frombuffer(zlib.decompress(self.data), np.uint8).reshape(len(self.peaks), self.n_audio_ctx)
        return levels * (np.array(self.peaks, np.float32)[:, None] / np.float32(255))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAttempt:
    """One decode of a window and why it was not kept."""

    decode: int
    temperature: float

    failed: tuple[str, ...]
    """Options whose threshold the result did not pass; empty when it passed all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowWord:
    """A word of a segment."""

    word: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSegment:
    """A segment that came out of a window, or was rejected."""

    id: int
    start: float
    end: float
    text: str

    words: tuple[WindowWord, ...] = ()
    """Its words, when word times were asked for."""

    speech: float | None = None
    """Seconds of voice activity in its time; None without voice activity detection."""

    recovered: bool = False
    """Whether it is of a decode of its own, of a stretch that the others had left out."""

    rejected: str = ""
    """Why its text is taken for invented; empty for text that is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFinished:
    """A window of a transcription is done."""

    window: int
    """Number of the window, from 0."""

    seek: int
    """Its first frame, in hundredths of a second."""

    end: int
    """The frame behind its last."""

    next_seek: int
    """First frame of what comes next."""

    language: str
    """Language that it was decoded in."""

    attempts: tuple[WindowAttempt, ...]
    """Its decodes, in order."""

    kept: int
    """Number of the decode whose result was kept."""

    is_silent: bool
    """Whether it was skipped because nobody speaks in it."""

    segments: tuple[WindowSegment, ...]
    """Its segments; none when it was skipped."""

    rejected: tuple[WindowSegment, ...] = ()
    """Text that is taken for invented, each with its reason."""


Event = TranscriptionStarted | DecodeStarted | DecodeStep | DecodeFinished | AttentionMap | WindowFinished
"""Any event of a trace."""
