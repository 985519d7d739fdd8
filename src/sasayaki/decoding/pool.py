"""Drives any number of decodes with one engine: they join, go on side by side, and leave when they are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from sasayaki.decoding.task import DecodingTask
from sasayaki.inference.base import DecoderSession, Inference, Row
from sasayaki.results import DecodingResult

_JOINING_TOKENS = 8
"""Longest prompt with which a task joins others that are under way: their rows are padded to its length."""


@dataclass
class TaskPool:
    """Decodes that share the calls of one engine. Each has the result that it would have alone.

    A task that is added begins with the next step. If its prompt is long, or the cache has grown to the length of the
    text context, it waits until all that are under way are done, and begins a new session with the others that wait.

    Attributes:
        inference: the engine.
        check: called before each step; what it raises is raised by `step`.
    """

    inference: Inference
    check: Callable[[], None] | None = None
    _waiting: deque[tuple[DecodingTask, list[Row]]] = field(default_factory=deque, init=False)
    _turns: list[tuple[DecodingTask, list[Row]]] = field(default_factory=list, init=False)
    _session: DecoderSession | None = field(default=None, init=False)
    _n_columns: int = field(default=0, init=False)

    def __len__(self) -> int:
        """Number of tasks that are not done."""
        return len(self._turns) + len(self._waiting)

    def add(self, task: DecodingTask) -> None:
        """Take a task in."""
        self._waiting.append((task, task.start()))

    def step(self) -> list[tuple[DecodingTask, DecodingResult]]:
        """Give every task that is under way its next tokens; those that are done by it, with their results.

        Whatever is raised, the session with its cache is closed.
        """
        try:
            return self._step()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the cache, and forget all tasks."""
        if self._session:
            self._session.close()
        self._session = None
        self._turns.clear()
        self._waiting.clear()

    def _step(self) -> list[tuple[DecodingTask, DecodingResult]]:
        if self.check:
            self.check()
        self._let_in()
        if not self._turns or not self._session:
            return []
        logits = self._session.forward([row for _, rows in self._turns for row in rows])
        self._n_columns += max(len(row.tokens) for _, rows in self._turns for row in rows)
        offsets = [0, *accumulate(len(rows) for _, rows in self._turns)]
        # All candidates are computed before the first one is read: a device is waited for once a step.
        proposals = [
            task.propose(logits[offset : offset + len(rows)])
            for (task, rows), offset in zip(self._turns, offsets, strict=False)
        ]
        stepped = [
            (task, _shift_sources(task.advance(proposal), offset))
            for (task, _), proposal, offset in zip(self._turns, proposals, offsets, strict=False)
        ]
        self._turns = [(task, rows) for task, rows in stepped if rows]
        if not self._turns:
            self._session.close()
            self._session = None
        return [(task, task.finish()) for task, rows in stepped if not rows]

    def _let_in(self) -> None:
        """Move tasks from the waiting to those under way."""
        if not self._turns:
            self._turns.extend(self._waiting)
            self._waiting.clear()
            if self._turns:
                self._session, self._n_columns = self.inference.start(), 0
        while self._waiting and self._may_join(self._waiting[0][1]):
            self._turns.append(self._waiting.popleft())

    def _may_join(self, rows: Sequence[Row]) -> bool:
        is_short = max(len(row.tokens) for row in rows) <= _JOINING_TOKENS
        return is_short and self._n_columns < self.inference.dims.n_text_ctx


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
