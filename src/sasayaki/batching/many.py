"""Many recordings, each with a loop of its own, whose windows are transcribed side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sasayaki.batching.recording import clip_lanes
from sasayaki.batching.scheduler import Events, Lane, Lanes, in_order
from sasayaki.decoding.pool import TaskPool
from sasayaki.errors import OptionError, StoppedError
from sasayaki.results import Outcome
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import Place, WindowResult, Windows
from sasayaki.transcribe.start import Plan
from sasayaki.transcribe.stream import SegmentStream

Item = TypeVar("Item")
Begin = Callable[[Item, Plan], SegmentStream]
"""Opens the recording of an item, to be gone through by a plan."""


def outcomes(running: Iterable[tuple[Item, SegmentStream | Exception]]) -> Iterator[Outcome]:
    """Run transcriptions to their ends. An error belongs to its recording, unless it would come with all."""
    for source, stream in running:
        if isinstance(stream, Exception):
            yield _failed(Outcome(source, error=stream))
            continue
        try:
            outcome = Outcome(source, stream.collect())
        except Exception as error:
            outcome = Outcome(source, stream.transcription, error)
        yield _failed(outcome)


def _failed(outcome: Outcome) -> Outcome:
    """The outcome, if it says nothing about the others."""
    error = outcome.error
    if isinstance(error, OptionError) or (isinstance(error, StoppedError) and error.reason == "cancel"):
        raise error
    return outcome


def streams_side_by_side(
    pool: TaskPool, items: Iterable[Item], begin: Begin[Item], n_at_once: int
) -> Generator[tuple[Item, SegmentStream | Exception], None, None]:
    """Transcribe recordings, `n_at_once` windows at a time; streams, or why there is none, in the order of the items.

    A recording is opened when there is room for its windows, and closed when the next stream is asked for. The error of
    one does not stop the others; it is raised by its stream.

    Raises:
        OptionError: by opening a recording; it would come with each.
    """
    many = _Many(iter(items), begin, pool, n_at_once)
    with closing(many.found):
        try:
            while many.begun or many.open_next():
                yield many.begun[0][:2]
                many.close_first()
        finally:
            while many.begun:
                many.close_first()


@dataclass
class _Many(Generic[Item]):
    """Recordings that were opened and are not done, with their loops.

    Attributes:
        items: those that were not opened.
        begin: opens one.
        pool: decodes for all of them.
        n_at_once: how many loops go on at a time.
        begun: those that were opened, or why they could not be, in order, with their loops.
        waiting: loops that were not begun.
        found: what all loops give.
        ready: of each loop, what was not asked for.
    """

    items: Iterator[Item]
    begin: Begin[Item]
    pool: TaskPool
    n_at_once: int
    begun: deque[tuple[Item, SegmentStream | Exception, list[Lane]]] = field(default_factory=deque, init=False)
    waiting: deque[Lane] = field(default_factory=deque, init=False)
    found: Events = field(init=False)
    ready: dict[Lane, deque[WindowResult | Exception | None]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._running = Lanes(self.pool, self._lanes(), self.n_at_once)
        self.found = self._running.run()

    def open_next(self) -> bool:
        """Open the next recording; whether there was one."""
        for item in self.items:
            lanes: list[Lane] = []

            def plan(driver: Driver, work: Assignment, place: Place, lanes: list[Lane] = lanes) -> Windows:
                found = _lanes_of(driver, work, place)
                lanes += found
                return in_order(self._windows(found), found, place, work.options)

            stream: SegmentStream | Exception
            try:
                stream = self.begin(item, plan)
            except OptionError:
                raise
            except Exception as error:
                stream, lanes = error, []
            self.begun.append((item, stream, lanes))
            self.waiting.extend(lanes)
            self.ready.update((lane, deque()) for lane in lanes)
            return True
        return False

    def close_first(self) -> None:
        """Let go of the first recording, whether it is done or not."""
        _, stream, lanes = self.begun.popleft()
        for lane in lanes:
            self._running.drop(lane)
            self.ready.pop(lane, None)
        self.waiting = deque(lane for lane in self.waiting if lane not in lanes)
        if not isinstance(stream, Exception):
            stream.close()

    def _lanes(self) -> Iterator[Lane]:
        """The loops of all recordings, which are opened one after the other as loops are asked for."""
        while self.waiting or self.open_next():
            while self.waiting:
                yield self.waiting.popleft()

    def _windows(self, lanes: Sequence[Lane]) -> Iterator[tuple[Lane, WindowResult | Exception | None]]:
        """The windows of some loops of a recording, for which all loops go on."""
        for lane in lanes:
            window: WindowResult | Exception | None
            while True:
                while not self.ready[lane]:
                    other, window = next(self.found)
                    if other in self.ready:
                        self.ready[other].append(window)
                window = self.ready[lane].popleft()
                yield lane, window
                if window is None:
                    break


def _lanes_of(driver: Driver, work: Assignment, place: Place) -> list[Lane]:
    """A lane for each cut of a recording, or one for all of it."""
    if work.options.cuts_recordings:
        return clip_lanes(driver, work, place)
    return [Lane(driver, transcribe_recording(work, place))]
