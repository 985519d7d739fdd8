"""A process with one engine, which `compare.py` starts: it loads, gets warm, and transcribes what it is asked to."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.engines import ENGINES, Engine
from benchmarks.processes import answer_lines
from benchmarks.recordings import RATE, read_samples

WARM_SECONDS = 10
"""What an engine transcribes of the first recording before anything is timed."""


def begin(name: str, model: str, folder: str, threads: str, beam: str) -> tuple[dict[str, Any], Callable[..., Any]]:
    """Load the engine."""
    start = time.perf_counter()
    engine = ENGINES[name](model, Path(folder), threads=int(threads), beam=int(beam))
    seconds = time.perf_counter() - start
    return {"load_seconds": seconds, "load_peak_mib": peak_mib(), "version": engine.version()}, partial(answer, engine)


def answer(engine: Engine, path: str, *, is_warming: bool, is_read_by_engine: bool, **options: str) -> dict[str, Any]:
    """Transcribe a recording.

    Args:
        engine: the engine.
        path: file of the recording, as `recordings.write_wave` makes it.
        is_warming: whether to take only its beginning.
        is_read_by_engine: whether the engine opens the file itself if it can; otherwise samples are in memory first.
        options: `language` and `policy` of `Engine.transcribe`.
    """
    if is_warming:
        audio = read_samples(Path(path), most=WARM_SECONDS * RATE)
    else:
        audio = engine.opened(Path(path)) if is_read_by_engine else read_samples(Path(path))
    forget_peak()
    start = time.perf_counter()
    text = engine.transcribe(audio, **options)
    return {"text": text, "seconds": time.perf_counter() - start, "peak_mib": peak_mib()}


def peak_mib() -> float:
    """Highest resident size of this process in MiB since `forget_peak`, or since it began."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the kernel tells no peak memory (VmHWM in /proc/self/status)")


def forget_peak() -> None:
    """Let the highest resident size begin anew at the present one (see proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    answer_lines(partial(begin, *sys.argv[1:]))
