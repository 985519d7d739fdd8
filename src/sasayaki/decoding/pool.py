"""Drives any number of decodes with one engine: they begin together, go on side by side, and leave when done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from array_api_compat import is_numpy_array

from sasayaki.decoding.shortcut import Likeliest, likeliest_of
from sasayaki.decoding.task import DecodingTask, on_host
from sasayaki.inference.base import Array, DecoderSession, DigestingSession, Inference, Row
from sasayaki.results import DecodingResult


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

    def step(self) -> list[tuple[DecodingTask, DecodingResult]]:
        """Give every task that is under way its next tokens; those that are done by it, with their results.

        Whatever is raised, the sessions with their caches are closed.
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

    def __len__(self) -> int:
        return len(self.turns) + len(self.waiting)

    def close(self) -> None:
        if self.session:
            self.session.close()

    def step(self) -> list[tuple[DecodingTask, DecodingResult]]:
        if not self.turns and self.waiting:
            self.turns.extend(self.waiting)
            self.waiting.clear()
            self.session = self.inference.start()
        if not self.session:
            return []
        logits = self.session.forward([row for _, rows in self.turns for row in rows])
        offsets = [0, *accumulate(len(rows) for _, rows in self.turns)]
        # All candidates are computed before the first one is read: a device is waited for once a step.
        found = self._likeliest(logits)
        proposals = [
            task.propose(logits[start:stop], likeliest)
            for (task, _), (start, stop), likeliest in zip(self.turns, pairwise(offsets), found, strict=True)
        ]
        if not is_numpy_array(logits):
            proposals = on_host(proposals)
        stepped = [
            (task, _shift_sources(task.advance(proposal), offset))
            for (task, _), proposal, offset in zip(self.turns, proposals, offsets, strict=False)
        ]
        self.turns = [(task, rows) for task, rows in stepped if rows]
        if not self.turns:
            self.session.close()
            self.session = None
        return [(task, task.finish()) for task, rows in stepped if not rows]

    def _likeliest(self, logits: Array) -> Sequence[Likeliest | None]:
        """What the engine's knowledge of the logits tells about the rows of each task."""
        tasks = [task for task, _ in self.turns]
        if not isinstance(self.session, DigestingSession):
            return [None] * len(tasks)
        shortcuts, sampled = [task.shortcut for task in tasks], [task.sampled for task in tasks]
        return likeliest_of(shortcuts, logits, self.session.digest(), sampled)


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
    while len(pool):
        results.update((id(task), result) for task, result in pool.step())
    return [results[id(task)] for task in tasks]


def _shift_sources(rows: list[Row], offset: int) -> list[Row]:
    """A task counts its own rows from 0; in the shared call they stand behind those of the tasks before it."""
    return [replace(row, source=offset + row.source) for row in rows if row.source is not None]
