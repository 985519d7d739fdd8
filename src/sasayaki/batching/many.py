"""Many recordings, each with a loop of its own, whose windows are transcribed side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from sasayaki.audio.load import AudioSource
from sasayaki.batching.recording import clip_lanes
from sasayaki.batching.scheduler import Lane, in_order, run_lanes
from sasayaki.decoding.pool import TaskPool
from sasayaki.errors import AudioError
from sasayaki.results import Outcome
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import Place, WindowResult, Windows
from sasayaki.transcribe.start import Plan
from sasayaki.transcribe.stream import SegmentStream

Begin = Callable[[AudioSource, Plan], SegmentStream]
"""Opens a recording, to be gone through by a plan."""


def recordings_side_by_side(
    pool: TaskPool, sources: Iterable[AudioSource], begin: Begin, n_at_once: int
) -> Iterator[Outcome]:
    """Transcribe recordings, `n_at_once` windows at a time; outcomes come in the order of the sources.

    A recording is opened when there is room for its windows. One that cannot be read does not stop the others.
    """
    many = _Many(iter(sources), begin)
    with closing(run_lanes(pool, many.lanes(), n_at_once)) as many.found:
        try:
            while many.begun or many.open_next():
                source, stream = many.begun.popleft()
                if isinstance(stream, AudioError):
                    yield Outcome(source, error=stream)
                else:
                    with closing(stream):
                        yield Outcome(source, stream.collect())
        finally:
            for _, stream in many.begun:
                if not isinstance(stream, AudioError):
                    stream.close()


@dataclass
class _Many:
    """Recordings that were opened and are not done, with their loops.

    Attributes:
        sources: those that were not opened.
        begin: opens one.
        begun: those that were, or why they could not be, in order.
        waiting: loops that were not begun.
        found: the windows of all loops as they become final, None behind the last of each.
        ready: of each loop, those that were not asked for.
    """

    sources: Iterator[AudioSource]
    begin: Begin
    begun: deque[tuple[AudioSource, SegmentStream | AudioError]] = field(default_factory=deque)
    waiting: deque[Lane] = field(default_factory=deque)
    found: Iterator[tuple[Lane, WindowResult | None]] = field(init=False)
    ready: dict[Lane, deque[WindowResult | None]] = field(default_factory=dict)

    def open_next(self) -> bool:
        """Open the next recording; whether there was one."""
        for source in self.sources:
            try:
                self.begun.append((source, self.begin(source, self.plan)))
            except AudioError as error:
                self.begun.append((source, error))
            return True
        return False

    def lanes(self) -> Iterator[Lane]:
        """The loops of all recordings, which are opened one after the other as loops are asked for."""
        while self.waiting or self.open_next():
            while self.waiting:
                yield self.waiting.popleft()

    def plan(self, driver: Driver, work: Assignment, place: Place) -> Windows:
        """Leave a recording to the loops beside it; its windows, for which all of them go on."""
        if work.options.batch_size > 1:
            lanes = clip_lanes(driver, work, place)
        else:
            lanes = [Lane(driver, transcribe_recording(work, place))]
        self.waiting.extend(lanes)
        self.ready.update((lane, deque()) for lane in lanes)
        return in_order(self._windows(lanes), lanes, first_id=place.n_segment)

    def _windows(self, lanes: Sequence[Lane]) -> Iterator[tuple[Lane, WindowResult | None]]:
        """The windows of some loops."""
        for lane in lanes:
            window: WindowResult | None
            while True:
                while not self.ready[lane]:
                    other, window = next(self.found)
                    self.ready[other].append(window)
                window = self.ready[lane].popleft()
                yield lane, window
                if window is None:
                    del self.ready[lane]
                    break
