"""What decoding and transcription return: frozen values that also read like openai/whisper's dicts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sasayaki.options import TranscribeOptions
from sasayaki.records import to_plain


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

    def items(self) -> list[tuple[str, Any]]:
        """Names and values of the fields."""
        return [(name, self[name]) for name in self.keys()]

    def get(self, name: str, default: Any = None) -> Any:
        """The field of that name, or `default`."""
        return getattr(self, name) if name in self.keys() else default

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, fit for JSON.

        What is not finite becomes None. Arrays (`audio_features`) and objects (`options.scorers`) are left out.
        """
        plain: dict[str, Any] = to_plain(self)
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScore(Record):
    """A word and how far it can be trusted."""

    text: str
    """The word with its leading space and the punctuation beside it."""

    tokens: tuple[int, ...]
    """Tokens that spell it."""

    logprob: float
    """Log-probability of its letters and digits after the filters, punctuation of its own not counted."""

    probability: float
    """Calibrated probability that the word was said; see docs/confidence.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Record):
    """A word with its times."""

    word: str
    """The word with its leading space and the punctuation beside it; the words of a segment join to its text."""

    start: float
    """Start in seconds from the start of the recording."""

    end: float
    """End in seconds from the start of the recording."""

    probability: float
    """Mean probability of its tokens, punctuation beside it not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative(Record):
    """A reading of a place in the text."""

    text: str
    """The word; empty when nothing stands there."""

    probability: float
    """Share of the hypotheses that read so, weighted by their probabilities; all readings of a place sum to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot(Record):
    """A place in the text with every reading that the hypotheses have for it."""

    text: str
    """The reading of the best hypothesis; empty where only others have a word."""

    alternatives: tuple[Alternative, ...]
    """All readings, likeliest first, that of the best hypothesis among them."""


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
    """What the ranker compares: `sum_logprob`, and what phrases and scorers added to it, over the length penalty."""

    rank: int = 0
    """Place among the hypotheses of the window, from 0 for the best."""

    token_logprobs: tuple[float, ...]
    """Log-probability of each token after the filters."""

    token_raw_logprobs: tuple[float, ...]
    """Log-probability of each token before the filters."""

    stop: str
    """Why it ended: `eot` with the end token, `length` when it was cut off alive, `dead` when the filters left it no
    token to go on with; `cut` behind its last segment, or `loop` behind the first turn, when it ran into a loop."""

    token_probs: tuple[float, ...] = ()
    """Calibrated probability of each token; that of a timestamp is the model's own."""

    words: tuple[WordScore, ...] = ()
    """Its words with their probabilities."""

    @property
    def confidence(self) -> float:
        """Share of its words that are expected to be right; NaN without words."""
        return mean_probability(self.words)

    @property
    def avg_logprob(self) -> float:
        """Mean log-probability per token, the end token counted as one."""
        return self.sum_logprob / (len(self.tokens) + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingResult(Record):
    """The result of one window; names are those of openai/whisper."""

    audio_features: Any = field(repr=False, compare=False, metadata={"is_array": True})
    """Encoder output, (n_audio_ctx, n_audio_state), in the engine's array type; results are compared without it."""

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
    """The sequences that the search ended with, best first: all, or the first `n_best`."""

    alternatives: tuple[Slot, ...] = field(default=(), repr=False)
    """The words of the best hypothesis in order, each with what the other hypotheses have in its place."""

    @property
    def confidence(self) -> float:
        """Share of the words that are expected to be right; NaN without words."""
        return self.hypotheses[0].confidence if self.hypotheses else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt(Record):
    """One decode of a window, at one temperature."""

    temperature: float
    avg_logprob: float
    compression_ratio: float
    no_speech_prob: float
    failed: tuple[str, ...]
    """Options whose threshold the result did not pass, or what else spoke against it; empty when it passed all."""


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

    channel: int | None = None
    """Channel that it was heard in, from 0, when channels were split."""

    language_probability: float = math.nan
    """Probability of that language, by the last detection; NaN when it was given."""

    words: tuple[Word, ...] = field(default=(), repr=False)
    """Its words with their times; empty when no word times were asked for."""

    speech: float = field(default=math.nan, repr=False)
    """Seconds of voice activity in its time; NaN without voice activity detection."""

    recovered: bool = field(default=False, repr=False)
    """Whether the coverage guard found it by decoding a stretch again."""

    rejected: str = field(default="", repr=False)
    """Why its text is taken for invented (docs/long-audio.md); empty for text that is kept."""

    attempts: tuple[Attempt, ...] = field(default=(), repr=False)
    """Every decode of its window, the one that was kept included, and why others failed."""

    confidence: float = math.nan
    """Share of its words that are expected to be right; NaN without words."""

    token_probs: tuple[float, ...] = field(default=(), repr=False)
    """Calibrated probability of each token; that of a timestamp is the model's own."""

    word_scores: tuple[WordScore, ...] = field(default=(), repr=False)
    """Its words with their probabilities."""

    alternatives: tuple[Slot, ...] = field(default=(), repr=False)
    """Its words in order, each with what the other hypotheses have in its place."""


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

    rejected: tuple[Segment, ...] = field(default=(), repr=False)
    """Text that is taken for invented, in the order of time; each with the reason, and the number of the segment that
    follows it."""

    n_guard_decodes: int = field(default=0, repr=False)
    """Number of stretches that the coverage guard has decoded again."""

    options: TranscribeOptions = field(default_factory=TranscribeOptions, repr=False)
    """The options that were in force."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one of many recordings."""

    source: Any
    """The recording, as it was given."""

    transcription: Transcription | None = None
    """What was said; what was final when an error came, None if it came before the first window."""

    error: Exception | None = None
    """Why there is no more of it; None if all is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedWord(Record):
    """A word of a text that was known, and where in the recording it is said."""

    word: str
    """The word with its leading space and the punctuation beside it."""

    start: float | None = None
    """Start in seconds from the start of the recording; None when it was not found."""

    end: float | None = None
    """End in seconds from the start of the recording; None when it was not found."""

    probability: float = 0.0
    """Mean probability of its tokens, given the audio and the words before, punctuation beside it not counted."""

    line: int = 0
    """Number of its line or sentence in the text, from 0."""

    @property
    def is_aligned(self) -> bool:
        """Whether it was found."""
        return self.start is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment(Record):
    """A text that was known, with times."""

    words: tuple[AlignedWord, ...]
    """All words of the text in order."""

    language: str
    """Language code, given or detected."""

    duration: float = 0.0
    """Length of the recording in seconds."""

    def to_transcription(self) -> Transcription:
        """The same as a transcription, one segment a line, for writers.

        Words that were not found take no time behind the word before them; lines of which none was found are left out.
        """
        lines = [tuple(words) for _, words in groupby(self.words, key=lambda word: word.line)]
        found = [words for words in lines if any(word.is_aligned for word in words)]
        segments = tuple(_line_segment(number, words, self.language) for number, words in enumerate(found))
        text = "".join(segment.text for segment in segments)
        return Transcription(text=text, segments=segments, language=self.language, duration=self.duration)


def _line_segment(number: int, words: Sequence[AlignedWord], language: str) -> Segment:
    place = next(word.start for word in words if word.start is not None)
    timed = []
    for word in words:
        start, end = (place, place) if word.start is None or word.end is None else (word.start, word.end)
        timed.append(Word(word=word.word, start=start, end=end, probability=word.probability))
        place = end
    return Segment(
        id=number,
        seek=0,
        start=timed[0].start,
        end=timed[-1].end,
        text="".join(word.word for word in words),
        tokens=(),
        temperature=0.0,
        avg_logprob=math.nan,
        compression_ratio=math.nan,
        no_speech_prob=math.nan,
        language=language,
        words=tuple(timed),
    )


def mean_probability(words: Sequence[WordScore]) -> float:
    """Mean probability of some words; NaN for none."""
    return sum(word.probability for word in words) / len(words) if words else math.nan
