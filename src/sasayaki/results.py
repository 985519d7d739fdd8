"""What decoding and transcription return: frozen values that also read like openai/whisper's dicts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from sasayaki.options import TranscribeOptions


class Record:
    """Dict manners for a dataclass: `result["text"]`, `"text" in result`, `dict(result)`."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(f.name for f in dataclasses.fields(self))  # type: ignore[arg-type]

    def get(self, name: str, default: Any = None) -> Any:
        """The field of that name, or `default`."""
        return getattr(self, name) if name in self.keys() else default

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, fit for JSON.

        What is not finite becomes None. Arrays (`audio_features`) are left out.
        """
        return _plain_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis(Record):
    """One sequence that the search ended with."""

    tokens: tuple[int, ...]
    """Sampled tokens without the end token."""

    text: str
    """The text of `tokens`, without timestamps."""

    sum_logprob: float
    """Sum of log-probabilities after the filters, that of the end token included if it was sampled."""

    score: float
    """What the ranker compares: `sum_logprob` over the length penalty."""

    token_logprobs: tuple[float, ...]
    """Log-probability of each token after the filters."""

    token_raw_logprobs: tuple[float, ...]
    """Log-probability of each token before the filters."""

    stop: str
    """Why it ended: `eot` with the end token, `length` when it was cut off alive; `cut` behind its last segment, or
    `loop` behind the first turn, when it ran into a loop."""

    @property
    def avg_logprob(self) -> float:
        """Mean log-probability per token, the end token counted as one."""
        return self.sum_logprob / (len(self.tokens) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingResult(Record):
    """The result of one window; names are those of openai/whisper."""

    audio_features: Any = field(repr=False, metadata={"is_array": True})
    """Encoder output, (n_audio_ctx, n_audio_state), in the engine's array type."""

    language: str
    """Language code, given or detected."""

    language_probs: Mapping[str, float] | None = None
    """Probability of every language, when it was detected."""

    tokens: tuple[int, ...] = ()
    """Sampled tokens, timestamps included, without the end token."""

    text: str = ""
    """The text of `tokens`, without timestamps."""

    avg_logprob: float = math.nan
    """Mean log-probability per token, the end token counted as one."""

    no_speech_prob: float = math.nan
    """Probability of the no-speech token at the start-of-transcript position, before any filter."""

    temperature: float = math.nan
    """Temperature of the decode."""

    compression_ratio: float = math.nan
    """UTF-8 bytes of the text over its zlib-compressed bytes; high for repetitive text."""

    hypotheses: tuple[Hypothesis, ...] = field(default=(), repr=False)
    """Every sequence that the search ended with, best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Record):
    """One decode of a window, at one temperature."""

    temperature: float
    avg_logprob: float
    compression_ratio: float
    no_speech_prob: float
    failed: tuple[str, ...]
    """Options whose threshold the result did not pass; empty when it passed all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(Record):
    """A stretch of speech with its text and times."""

    id: int
    """Number of the segment, from 0."""

    seek: int
    """First frame of its window, in hundredths of a second."""

    start: float
    """Start in seconds from the start of the recording."""

    end: float
    """End in seconds from the start of the recording."""

    text: str
    """Text as sampled, with its leading space."""

    tokens: tuple[int, ...]
    """Tokens of the segment, its timestamps included."""

    temperature: float
    """Temperature of the decode that was kept for its window."""

    avg_logprob: float
    """Mean log-probability per token of its window."""

    compression_ratio: float
    """Compression ratio of its window's text."""

    no_speech_prob: float
    """No-speech probability of its window."""

    language: str
    """Language that its window was decoded with."""

    attempts: tuple[Attempt, ...] = field(default=(), repr=False)
    """Every decode of its window, the one that was kept included, and why others failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcription(Record):
    """A whole recording."""

    text: str
    """The texts of all segments, joined."""

    segments: tuple[Segment, ...] = field(repr=False)
    """Segments in the order of time."""

    language: str
    """Language code, given or detected."""

    language_probs: Mapping[str, float] | None = field(default=None, repr=False)
    """Probability of every language in the first window, when it was detected."""

    duration: float = 0.0
    """Length of the recording in seconds."""

    options: TranscribeOptions = field(default_factory=TranscribeOptions, repr=False)
    """The options that were in force."""


def _plain_fields(value: Any) -> dict[str, Any]:
    plain = (f for f in dataclasses.fields(value) if not f.metadata.get("is_array"))
    return {f.name: _plain(getattr(value, f.name)) for f in plain}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain_fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) else None
    return value
