"""Work on the next stretch of a recording beside the decoder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Ahead:
    """Runs one piece of work at a time in a thread of its own.

    Who shares something with the work calls `settle` before touching it; nothing else is guarded. The thread ends with
    `close`, or when nobody has the object any more.
    """

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._running: Future[None] | None = None
        self._thread = 0

    def begin(self, work: Callable[[], None]) -> None:
        """Let the work run, when all before it is done."""
        self.settle()
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "sasayaki-ahead")
        self._running = self._executor.submit(self._run, work)

    def settle(self) -> None:
        """Wait until the work is done; what it raised is raised here."""
        running, self._running = self._running, None
        if running:
            running.result()

    def close(self) -> None:
        """Wait until the work is done, whatever comes of it, and end the thread. Safe to call twice."""
        if self._executor:
            self._executor.shutdown()
        self._executor = self._running = None

    def is_here(self) -> bool:
        """Whether the caller is the work itself."""
        return threading.get_ident() == self._thread

    def _run(self, work: Callable[[], None]) -> None:
        self._thread = threading.get_ident()
        work()
