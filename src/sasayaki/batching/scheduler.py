"""Drives many loops over recordings at once: their decodes share the calls of the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from sasayaki.decoding.pool import TaskPool
from sasayaki.decoding.task import DecodingTask
from sasayaki.results import DecodingResult
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.requests import Answer, Decode, Loop, WindowResult, Windows


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """One loop, and the driver that answers for its recording.

    Lanes of one recording have drivers of their own, so that each keeps the window it is at.
    """

    driver: Driver
    loop: Loop


def run_lanes(
    pool: TaskPool, lanes: Iterable[Lane], n_at_once: int
) -> Generator[tuple[Lane, WindowResult | None], None, None]:
    """Run loops to their ends, `n_at_once` at a time, in the order given; the next begins when one has ended.

    Decodes begin together. A loop whose decode is done goes on when those of all others are, so that not more than
    `n_at_once` encoded windows are in memory.

    Gives the windows as they become final, with None behind the last of a lane. However it ends, all loops are closed.
    """
    waiting = iter(lanes)
    decoding: dict[DecodingTask, Lane] = {}
    running: set[Lane] = set()
    done: list[tuple[Lane, DecodingResult]] = []
    with closing(pool):
        try:
            while True:
                while len(running) < n_at_once and (lane := next(waiting, None)):
                    running.add(lane)
                    yield from _advance(lane, None, pool, decoding, running)
                if not running:
                    return
                done += [(decoding.pop(task), result) for task, result in pool.step()]
                if not len(pool):
                    for lane, result in done:
                        yield from _advance(lane, result, pool, decoding, running)
                    done.clear()
        finally:
            for lane in running:
                lane.loop.close()


def _advance(
    lane: Lane, answer: Answer, pool: TaskPool, decoding: dict[DecodingTask, Lane], running: set[Lane]
) -> Generator[tuple[Lane, WindowResult | None], None, None]:
    """Take a lane on to its next decode, which is left to the pool, or to its end."""
    while True:
        try:
            request = lane.loop.send(answer)
        except StopIteration:
            running.remove(lane)
            lane.driver.forget()
            yield lane, None
            return
        if isinstance(request, WindowResult):
            lane.driver.forget()
            yield lane, request
            answer = None
        elif isinstance(request, Decode):
            task = lane.driver.task(request)
            decoding[task] = lane
            pool.add(task)
            return
        else:
            answer = lane.driver.answer(request)


def in_order(found: Iterable[tuple[Lane, WindowResult | None]], lanes: Sequence[Lane], *, first_id: int) -> Windows:
    """The windows of the first lane, then those of the second, …, with the numbers of their segments running on.

    A window is given as soon as all before it have been.
    """
    ready: dict[Lane, deque[WindowResult | None]] = {lane: deque() for lane in lanes}
    left = deque(lanes)
    n_segment = first_id
    for lane, window in found:
        ready[lane].append(window)
        while left and ready[left[0]]:
            first = ready[left[0]].popleft()
            if first is None:
                left.popleft()
            else:
                numbered = _numbered(first, n_segment)
                n_segment = numbered.place.n_segment
                yield numbered


def _numbered(window: WindowResult, first_id: int) -> WindowResult:
    segments = tuple(replace(segment, id=number) for number, segment in enumerate(window.segments, start=first_id))
    place = replace(window.place, n_segment=first_id + len(segments))
    return replace(window, segments=segments, place=place)
