"""Drives any number of decodes with one engine: they begin together, go on side by side, and leave when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from array_api_compat import is_numpy_array

from sasayaki.decoding.shortcut import Likeliest, likeliest_of
from sasayaki.decoding.task import DecodingTask, Proposal, on_host
from sasayaki.inference.base import Array, DecoderSession, Digest, DigestingSession, Inference, Row
from sasayaki.results import DecodingResult

_Made = TypeVar("_Made")


@dataclass
class TaskPool:
    """Decodes that share the calls of one engine. Each has the result that it would have alone.

    A task that is added begins with the next step if none is under way; else it waits until all that are have ended,
    and begins a new session with the others that wait. If it joined them, its rows would pay for all that those before
    it have in the cache (docs/log.md). Windows of different lengths have sessions of their own.

    Attributes:
        inference: the engine.
        check: called before each step; what it raises is raised by `step`.
    """

    inference: Inference
    check: Callable[[], None] | None = None
    _groups: dict[int, _Group] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        """Number of tasks that are not done."""
        return sum(len(group) for group in self._groups.values())

    def add(self, task: DecodingTask) -> None:
        """Take a task in."""
        group = self._groups.setdefault(task.n_audio_ctx, _Group(self.inference))
        group.waiting.append((task, task.start()))

    def drop(self, task: DecodingTask) -> None:
        """Forget a task, whether it is done or not; the others go on."""
        for group in self._groups.values():
            group.drop(task)

    def step(self) -> list[tuple[DecodingTask, DecodingResult | Exception]]:
        """Give every task that is under way its next tokens; those that are done by it, with their results.

        A task that cannot go on is done, with its error as the result. Whatever else is raised, the sessions with their
        caches are closed.
        """
        try:
            if self.check:
                self.check()
            return [done for group in self._groups.values() for done in group.step()]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the caches, and forget all tasks."""
        for group in self._groups.values():
            group.close()
        self._groups.clear()


@dataclass
class _Group:
    """Tasks with windows of one length: those that wait, and those that share a session, with their next rows."""

    inference: Inference
    waiting: list[tuple[DecodingTask, list[Row]]] = field(default_factory=list)
    turns: list[tuple[DecodingTask, list[Row]]] = field(default_factory=list)
    session: DecoderSession | None = None
    digest: Callable[[], Digest] | None = None

    def __len__(self) -> int:
        return len(self.turns) + len(self.waiting)

    def close(self) -> None:
        if self.session:
            self.session.close()

    def drop(self, task: DecodingTask) -> None:
        self.waiting = [each for each in self.waiting if each[0] is not task]
        self.turns = [each for each in self.turns if each[0] is not task]
        self._close_if_done()

    def step(self) -> list[tuple[DecodingTask, DecodingResult | Exception]]:
        if not self.turns and self.waiting:
            self._begin()
        if not self.session:
            return []
        logits = self.session.forward([row for _, rows in self.turns for row in rows])
        offsets = [0, *accumulate(len(rows) for _, rows in self.turns)]
        # All candidates are computed before the first one is read: a device is waited for once a step.
        found = self._likeliest(logits)
        proposals = [
            _attempt(task.propose, logits[start:stop], likeliest)
            for (task, _), (start, stop), likeliest in zip(self.turns, pairwise(offsets), found, strict=True)
        ]
        if not is_numpy_array(logits):
            proposals = _all_on_host(proposals)
        stepped = [
            (task, proposal if isinstance(proposal, Exception) else _attempt(_advance, task, proposal, offset))
            for (task, _), proposal, offset in zip(self.turns, proposals, offsets, strict=False)
        ]
        self.turns = [(task, rows) for task, rows in stepped if rows and not isinstance(rows, Exception)]
        self._close_if_done()
        return [
            (task, rows if isinstance(rows, Exception) else _attempt(task.finish))
            for task, rows in stepped
            if not rows or isinstance(rows, Exception)
        ]

    def _begin(self) -> None:
        self.turns, self.waiting = self.waiting, []
        self.session = self.inference.start()
        self.digest = self.session.digest if isinstance(self.session, DigestingSession) else None

    def _close_if_done(self) -> None:
        if self.session and not self.turns:
            self.session.close()
            self.session = self.digest = None

    def _likeliest(self, logits: Array) -> Sequence[Likeliest | None]:
        """What the engine's knowledge of the logits tells about the rows of each task."""
        tasks = [task for task, _ in self.turns]
        if not self.digest:
            return [None] * len(tasks)
        shortcuts, sampled = [task.shortcut for task in tasks], [task.sampled for task in tasks]
        return likeliest_of(shortcuts, logits, self.digest(), sampled)


def run_tasks(
    inference: Inference, tasks: Sequence[DecodingTask], *, check: Callable[[], None] | None = None
) -> list[DecodingResult]:
    """Drive all tasks to their end together; the order of results is that of the tasks.

    Whatever happens, the session with its cache is closed. `check` is called before each step.
    """
    pool = TaskPool(inference, check)
    for task in tasks:
        pool.add(task)
    results: dict[int, DecodingResult] = {}
    with closing(pool):
        while len(pool):
            for task, result in pool.step():
                if isinstance(result, Exception):
                    raise result
                results[id(task)] = result
    return [results[id(task)] for task in tasks]


def _attempt(part: Callable[..., _Made], *arguments: Any) -> _Made | Exception:
    """What a part of a task's work gives, or the error that it ends with."""
    try:
        return part(*arguments)
    except Exception as error:
        return error


def _advance(task: DecodingTask, proposal: Proposal, offset: int) -> list[Row]:
    return _shift_sources(task.advance(proposal), offset)


def _all_on_host(proposals: Sequence[Proposal | Exception]) -> list[Proposal | Exception]:
    brought = iter(on_host([each for each in proposals if not isinstance(each, Exception)]))
    return [each if isinstance(each, Exception) else next(brought) for each in proposals]


def _shift_sources(rows: list[Row], offset: int) -> list[Row]:
    """A task counts its own rows from 0; in the shared call they stand behind those of the tasks before it."""
    return [replace(row, source=offset + row.source) for row in rows if row.source is not None]
