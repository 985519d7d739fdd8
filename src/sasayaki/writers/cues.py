"""Segments as cues: times and text that no caption reader can misread."""

from __future__ import annotations

from dataclasses import dataclass

from sasayaki.results import Transcription
from sasayaki.writers.times import to_milliseconds

_LENT_MS = 1000
"""How long a cue is shown whose segment lasts no time, unless the next cue starts earlier."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A caption: `end_ms` is above `start_ms`, `text` holds something and has no blank line."""

    start_ms: int
    end_ms: int
    text: str


def to_cues(transcription: Transcription) -> list[Cue]:
    """One cue per segment with text, in the order of the segments.

    A segment that lasts no time keeps its text: its cue is shown for a second, or until the next one starts.
    """
    spoken = [segment for segment in transcription.segments if segment.text.strip()]
    starts = [to_milliseconds(segment.start) for segment in spoken]
    cues = []
    for index, segment in enumerate(spoken):
        start_ms, end_ms = starts[index], to_milliseconds(segment.end)
        if end_ms <= start_ms:
            later = [start for start in starts[index + 1 :] if start > start_ms]
            end_ms = min([start_ms + _LENT_MS, *later])
        cues.append(Cue(start_ms, end_ms, "\n".join(_lines(segment.text))))
    return cues


def to_one_line(text: str) -> str:
    """The text without line breaks, tabs and space around it."""
    return " ".join(_lines(text)).replace("\t", " ")


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.replace("\0", "\ufffd").splitlines())
    return [line for line in stripped if line]
