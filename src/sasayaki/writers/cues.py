"""Segments as cues: times and text that no caption reader can misread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from sasayaki.results import Segment, Transcription
from sasayaki.writers.times import to_milliseconds
from sasayaki.writers.words import TimedWord, timed_words

_LENT_MS = 1000
"""How long a cue is shown whose words last no time, unless the next cue starts earlier."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A caption.

    Attributes:
        start_ms: not before the start of the cue before.
        end_ms: above `start_ms`.
        text: holds something and has no blank line.
        words: its words, which join to the text; empty where their times are not known.
    """

    start_ms: int
    end_ms: int
    text: str
    words: tuple[TimedWord, ...] = ()


class CueSource(Protocol):
    """Makes cues of segments, in order, each as soon as it is final."""

    def add(self, segment: Segment) -> list[Cue]:
        """Cues that are final once this segment is known."""

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest; `transcription` is the whole whose segments were added."""

    def waits_from(self) -> int | None:
        """Start in milliseconds of the first words that no cue has shown yet; None when there are none."""


class SegmentCues:
    """One cue for each segment with text, with the times of its words, or its own.

    Args:
        has_words: whether words decide on times and text.
    """

    def __init__(self, *, has_words: bool = True) -> None:
        self._has_words = has_words
        self._clock = CueClock()

    def add(self, segment: Segment) -> list[Cue]:
        """What is final once this segment is known."""
        if not segment.text.strip():
            return []
        words = timed_words(segment) if self._has_words and segment.words else []
        if words:
            return self._clock.add(cue_of_words(words))
        start_ms, end_ms = to_milliseconds(segment.start), to_milliseconds(segment.end)
        return self._clock.add(Cue(start_ms, end_ms, "\n".join(_lines(segment.text))))

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest."""
        return self._clock.end()

    def waits_from(self) -> int | None:
        """Start of what is held back."""
        return self._clock.waits_from()


class CueClock:
    """Sees that no cue starts before the one before it, and that each lasts.

    A cue that lasts no time is held back until the next one: it is shown for a second, or until a later one starts.
    """

    def __init__(self) -> None:
        self._held: list[Cue] = []
        self._last_ms = 0

    def add(self, cue: Cue) -> list[Cue]:
        """Cues that are final now."""
        start_ms = self._last_ms = max(self._last_ms, cue.start_ms)
        cue = replace(cue, start_ms=start_ms)
        released: list[Cue] = []
        if self._held and start_ms > self._held[0].start_ms:
            released = self._release(start_ms)
        if self._held or cue.end_ms <= start_ms:
            self._held.append(cue)
            return released
        return [*released, cue]

    def end(self) -> list[Cue]:
        """The cues that are left."""
        return self._release(self._last_ms + _LENT_MS)

    def waits_from(self) -> int | None:
        """Start of the cues that are held back; None without any."""
        return self._held[0].start_ms if self._held else None

    def _release(self, limit_ms: int) -> list[Cue]:
        held, self._held = self._held, []
        return [
            cue if cue.end_ms > cue.start_ms else replace(cue, end_ms=min(cue.start_ms + _LENT_MS, limit_ms))
            for cue in held
        ]


def cue_of_words(words: Iterable[TimedWord]) -> Cue:
    """One cue of at least one word, from its first word's start to its last one's end."""
    first, *others = words
    words = (first.with_text(first.text.strip()), *others)
    return Cue(first.start_ms, words[-1].end_ms, "".join(word.text for word in words), words)


def to_one_line(text: str) -> str:
    """The text without line breaks, tabs and space around it."""
    return " ".join(_lines(text)).replace("\t", " ")


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.replace("\0", "\ufffd").splitlines())
    return [line for line in stripped if line]
