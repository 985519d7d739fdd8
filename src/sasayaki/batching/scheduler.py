"""Drives many loops over recordings at once: their decodes share the calls of the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.pool import TaskPool
from sasayaki.decoding.task import DecodingTask
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.requests import Answer, Decode, Loop, Place, WindowResult, Windows
from sasayaki.transcribe.short import positions
from sasayaki.transcribe.sound_check import behind


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One loop, and the driver that answers for its recording.

    Lanes of one recording have drivers of their own, so that each keeps the window it is at.
    """

    driver: Driver
    loop: Loop


Events: TypeAlias = "Generator[tuple[Lane, WindowResult | Exception | None], None, None]"
"""Windows as they become final; behind the last of a lane None, or the error that ended it."""


@dataclass
class Lanes:
    """Loops that go on side by side: `n_at_once`, in the order given; the next begins when one has ended.

    Decodes begin together, with their windows encoded together. A loop whose decode is done goes on when those of all
    others are, and lets go of its window before another one is encoded, so that not more than `n_at_once` encoded
    windows are in memory.

    Attributes:
        pool: decodes for all of them.
        waiting: loops that were not begun.
        n_at_once: how many go on at a time.
    """

    pool: TaskPool
    waiting: Iterator[Lane]
    n_at_once: int
    _running: set[Lane] = field(default_factory=set, init=False)
    _wanted: dict[Lane, Decode] = field(default_factory=dict, init=False)
    _decoding: dict[DecodingTask, Lane] = field(default_factory=dict, init=False)
    _done: deque[tuple[Lane, DecodingResult]] = field(default_factory=deque, init=False)
    _failed: deque[tuple[Lane, Exception]] = field(default_factory=deque, init=False)

    def run(self) -> Events:
        """Run all to their ends. However it ends, all loops are closed."""
        with closing(self.pool):
            try:
                while True:
                    while len(self._running) < self.n_at_once and (lane := next(self.waiting, None)):
                        self._running.add(lane)
                        yield from self._advance(lane, None)
                    if not self._running:
                        return
                    self._begin_decodes()
                    self._step()
                    while self._failed:
                        yield self._failed.popleft()
                    while self._done and not len(self.pool):
                        yield from self._advance(*self._done.popleft())
            finally:
                for lane in list(self._running):
                    self.drop(lane)

    def drop(self, lane: Lane) -> None:
        """Close a loop, if it is not done, and give its place to the next one."""
        lane.loop.close()
        lane.driver.forget()
        self._running.discard(lane)
        self._wanted.pop(lane, None)
        self._done = deque(each for each in self._done if each[0] is not lane)
        for task in [task for task, other in self._decoding.items() if other is lane]:
            del self._decoding[task]
            self.pool.drop(task)

    def _advance(self, lane: Lane, answer: Answer) -> Events:
        """Take a lane on to its next decode, or to its end."""
        try:
            while lane in self._running:
                request = lane.loop.send(answer)
                answer = None
                if isinstance(request, WindowResult):
                    lane.driver.forget()
                    yield lane, request
                elif isinstance(request, Decode):
                    self._wanted[lane] = request
                    return
                else:
                    answer = lane.driver.answer(request)
        except StopIteration:
            self.drop(lane)
            yield lane, None
        except Exception as error:
            self.drop(lane)
            yield lane, error

    def _begin_decodes(self) -> None:
        """Encode the windows that are to be decoded, those of equal length in one call, and leave them to the pool."""
        mels: dict[Lane, npt.NDArray[np.float32]] = {}
        for lane, request in list(self._wanted.items()):
            with self._failing(lane):
                lane.driver.check()
                mel = lane.driver.missing(request.window)
                if mel is not None:
                    mels[lane] = mel
        for n_frames in sorted({mel.shape[1] for mel in mels.values()}):
            lanes = [lane for lane, mel in mels.items() if mel.shape[1] == n_frames]
            with self._failing(*lanes):
                places = np.stack([positions(self._wanted[lane].window) for lane in lanes])
                encoded = self.pool.inference.encode(np.stack([mels[lane] for lane in lanes]), places)
                for lane, features in zip(lanes, encoded, strict=True):
                    lane.driver.take(self._wanted[lane].window, features)
        for lane, request in list(self._wanted.items()):
            with self._failing(lane):
                task = lane.driver.task(request)
                self._decoding[task] = lane
                self.pool.add(task)
        self._wanted.clear()

    def _step(self) -> None:
        """A step of all decodes."""
        for lane in list(self._running):
            with self._failing(lane):
                lane.driver.check()
        with self._failing(*self._decoding.values()):
            for task, result in self.pool.step():
                lane = self._decoding.pop(task)
                if isinstance(result, Exception):
                    self._fail(lane, result)
                else:
                    self._done.append((lane, result))

    @contextmanager
    def _failing(self, *lanes: Lane) -> Iterator[None]:
        """What is raised ends these lanes alone."""
        try:
            yield
        except Exception as error:
            for lane in lanes:
                self._fail(lane, error)

    def _fail(self, lane: Lane, error: Exception) -> None:
        self.drop(lane)
        self._failed.append((lane, error))


def in_order(
    found: Iterable[tuple[Lane, WindowResult | Exception | None]],
    lanes: Sequence[Lane],
    place: Place,
    options: TranscribeOptions,
) -> Windows:
    """The windows of the first lane, then those of the second, …, from a place on.

    The numbers of their segments run on, and loops are found that began in another lane. A window is given as soon as
    all before it have been. The error of a lane is raised.
    """
    ready: dict[Lane, deque[WindowResult | None]] = {lane: deque() for lane in lanes}
    left = deque(lanes)
    for lane, window in found:
        if isinstance(window, Exception):
            raise window
        ready[lane].append(window)
        while left and ready[left[0]]:
            first = ready[left[0]].popleft()
            if first is None:
                left.popleft()
                continue
            follows = _numbered(first, place.n_segment)
            if options.rejects_loops:
                follows = left[0].driver.find(behind(place, follows))
            place = follows.place
            yield follows


def _numbered(window: WindowResult, first_id: int) -> WindowResult:
    shift = first_id + len(window.segments) - window.place.n_segment
    segments, rejected = (
        tuple(replace(each, id=each.id + shift) for each in some) for some in (window.segments, window.rejected)
    )
    place = replace(window.place, n_segment=first_id + len(segments))
    return replace(window, segments=segments, rejected=rejected, place=place)
