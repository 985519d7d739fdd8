"""A file in the making: the text that each segment adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import Cue, CueSource


class Composer(Protocol):
    """The content of one file, given out piece by piece in order."""

    def begin(self) -> str:
        """What stands before the first segment."""

    def add(self, segment: Segment) -> str:
        """What is final once this segment is known."""

    def end(self, transcription: Transcription) -> str:
        """The rest; `transcription` is the whole whose segments were added."""


class SegmentComposer:
    """A piece of text for each segment.

    Args:
        show: the text of a segment.
        head: what stands before the first.
    """

    def __init__(self, show: Callable[[Segment], str], head: str = "") -> None:
        self._show = show
        self._head = head

    def begin(self) -> str:
        """What stands before the first segment."""
        return self._head

    def add(self, segment: Segment) -> str:
        """What is final once this segment is known."""
        return self._show(segment)

    def end(self, transcription: Transcription) -> str:
        """The rest."""
        return ""


class CueComposer:
    """A piece of text for each cue.

    Args:
        source: makes cues of segments.
        show: the text of a cue; called once for each, in order.
        head: what stands before the first.
    """

    def __init__(self, source: CueSource, show: Callable[[Cue], str], head: str = "") -> None:
        self._source = source
        self._show = show
        self._head = head

    def begin(self) -> str:
        """What stands before the first segment."""
        return self._head

    def add(self, segment: Segment) -> str:
        """What is final once this segment is known."""
        return self._join(self._source.add(segment))

    def end(self, transcription: Transcription) -> str:
        """The rest."""
        return self._join(self._source.end(transcription))

    def _join(self, cues: Iterable[Cue]) -> str:
        return "".join(map(self._show, cues))
