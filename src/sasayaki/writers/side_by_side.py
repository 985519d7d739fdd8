"""Cues of channels that were split: each channel has its own, and they come in the order of their starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import Cue, CueSource
from sasayaki.writers.times import to_milliseconds


class SideBySide:
    """Gives the segments of each channel to a source of their own, so that nobody waits for others to finish.

    A cue is held back until no channel can have an earlier one.

    Args:
        make: a new source, for one channel.
    """

    def __init__(self, make: Callable[[], CueSource]) -> None:
        self._make = make
        self._sources: dict[int | None, CueSource] = {}
        self._held: list[Cue] = []
        self._last_ms = 0
        self._newest_ms = 0

    def add(self, segment: Segment) -> list[Cue]:
        """Cues that are final once this segment is known."""
        if segment.channel not in self._sources:
            self._sources[segment.channel] = self._make()
        source = self._sources[segment.channel]
        if segment.channel is None and len(self._sources) == 1:
            return source.add(segment)
        self._held += source.add(segment)
        self._newest_ms = max(self._newest_ms, to_milliseconds(segment.start))
        waiting = (each.waits_from() for each in self._sources.values())
        return self._release(min([self._newest_ms, *(ms for ms in waiting if ms is not None)]))

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest."""
        for source in self._sources.values():
            self._held += source.end(transcription)
        return self._release(None)

    def waits_from(self) -> int | None:
        """Start of the first words that no cue has shown yet."""
        waiting = [source.waits_from() for source in self._sources.values()]
        held = [cue.start_ms for cue in self._held]
        return min([*(ms for ms in waiting if ms is not None), *held], default=None)

    def _release(self, limit_ms: int | None) -> list[Cue]:
        """The cues that are held and start up to a moment; None for all."""
        self._held.sort(key=lambda cue: cue.start_ms)
        ready = [cue for cue in self._held if limit_ms is None or cue.start_ms <= limit_ms]
        self._held = self._held[len(ready) :]
        return list(self._in_order(ready))

    def _in_order(self, cues: Iterable[Cue]) -> Iterable[Cue]:
        """The cues, none before one that was given out."""
        for cue in cues:
            self._last_ms = max(self._last_ms, cue.start_ms)
            yield replace(cue, start_ms=self._last_ms, end_ms=max(cue.end_ms, self._last_ms + 1))
