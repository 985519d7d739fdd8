"""A process with one engine: requests as lines of JSON on stdin, answers on stdout. `compare.py` starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines import ENGINES, environment

ROOT = Path(__file__).resolve().parents[1]


class Worker:
    """The other end of a process with an engine.

    Raises:
        RuntimeError: the engine cannot be loaded; the message ends with what it said.
    """

    def __init__(self, engine: str, model: str, folder: Path, threads: int) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", engine, model, str(folder.resolve()), str(threads)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115, open as long as the process
        pipe = subprocess.PIPE
        paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
        env = environment(threads) | {"PYTHONPATH": paths}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, env=env)
        self.loaded = self._read()

    def ask(self, **request: Any) -> dict[str, Any]:
        """The answer to a request: `text`, `seconds`, `peak_mib`.

        Raises:
            RuntimeError: the engine failed.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            said = self._log.read().decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else "its process ended without a word")
        answer: dict[str, Any] = json.loads(line)
        return answer


def peak_mib() -> float:
    """Highest resident size of this process in MiB since `forget_peak`, or since it began."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel tells no peak memory (VmHWM in /proc/self/status)")


def forget_peak() -> None:
    """Let the highest resident size begin anew at the present one (see proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def main(name: str, model: str, folder: str, threads: str) -> None:
    """Load the engine and answer until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    begin = time.perf_counter()
    engine = ENGINES[name](model, Path(folder), int(threads))
    loaded = {"load_seconds": time.perf_counter() - begin, "load_peak_mib": peak_mib()}
    print(json.dumps(loaded), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        samples = np.fromfile(request.pop("samples"), np.float32)
        engine.prepare(request["beam"])
        forget_peak()
        begin = time.perf_counter()
        text = engine.transcribe(samples, **request)
        answer = {"text": text, "seconds": time.perf_counter() - begin, "peak_mib": peak_mib()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
