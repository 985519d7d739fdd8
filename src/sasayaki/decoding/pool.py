"""Drives any number of decodes with one engine: they join, go on side by side, and leave when they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from array_api_compat import is_numpy_array

from sasayaki.decoding.shortcut import Likeliest, likeliest_of
from sasayaki.decoding.task import DecodingTask, on_host
from sasayaki.inference.base import Array, DecoderSession, DigestingSession, Inference, Row
from sasayaki.results import DecodingResult

_JOINING_TOKENS = 8
"""Longest prompt with which a task joins others that are under way: their rows are padded to its length."""


@dataclass
class TaskPool:
    """Decodes that share the calls of one engine. Each has the result that it would have alone.

    A task that is added begins with the next step. If its prompt is long, or the cache has grown to the length of the
    text context, it waits until all that are under way are done, and begins a new session with the others that wait.
    Windows of different lengths have sessions of their own.

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
    waiting: deque[tuple[DecodingTask, list[Row]]] = field(default_factory=deque)
    turns: list[tuple[DecodingTask, list[Row]]] = field(default_factory=list)
    session: DecoderSession | None = None
    n_columns: int = 0

    def __len__(self) -> int:
        return len(self.turns) + len(self.waiting)

    def close(self) -> None:
        if self.session:
            self.session.close()

    def step(self) -> list[tuple[DecodingTask, DecodingResult]]:
        self._let_in()
        if not self.turns or not self.session:
            return []
        logits = self.session.forward([row for _, rows in self.turns for row in rows])
        self.n_columns += max(len(row.tokens) for _, rows in self.turns for row in rows)
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

    def _let_in(self) -> None:
        """Move tasks from the waiting to those under way."""
        if not self.turns and self.waiting:
            self.turns.extend(self.waiting)
            self.waiting.clear()
            self.session, self.n_columns = self.inference.start(), 0
        while self.waiting and self._may_join(self.waiting[0][1]):
            self.turns.append(self.waiting.popleft())

    def _may_join(self, rows: Sequence[Row]) -> bool:
        is_short = max(len(row.tokens) for row in rows) <= _JOINING_TOKENS
        return is_short and self.n_columns < self.inference.dims.n_text_ctx


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
