"""Processes that answer lines of JSON: each engine has an interpreter, a memory and threads of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class Process:
    """The asking end of a process that runs a module with `answer_lines`.

    Args:
        python: the interpreter.
        module: what it runs.
        arguments: of the module.
        threads: how many each library in it may use.

    Raises:
        RuntimeError: it ended before it was ready, or later without an answer; the message is the last line it wrote.
    """

    def __init__(self, python: str, module: str, arguments: Sequence[str], threads: int) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115, open as long as the process
        pipe = subprocess.PIPE
        command = [python, "-m", module, *arguments]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=environment(threads))
        self.ready = self._read()

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said last is read below
        return self._read()

    def close(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
        self._log.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            said = self._log.read().decode("utf-8", "replace").strip().splitlines()
            self.close()
            raise RuntimeError(said[-1] if said else "its process ended without a word")
        answer: dict[str, Any] = json.loads(line)
        return answer


def environment(threads: int) -> dict[str, str]:
    """Variables of a process: the benchmarks can be imported, and every library has as many threads."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return os.environ | dict.fromkeys(names, str(threads)) | {"PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "false"}


def answer_lines(begin: Callable[[], tuple[dict[str, Any], Callable[..., dict[str, Any]]]]) -> None:
    """The answering end: what `begin` says when it is ready, then an answer to each request until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    ready, answer = begin()
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(**json.loads(line))), file=answers, flush=True)
