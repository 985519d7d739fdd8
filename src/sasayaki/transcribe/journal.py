"""A file that keeps the windows of a transcription as they become final, so that a later run goes on behind them.

Lines of JSON: the first says what is transcribed and how, each further one is a window. A line is on disk before its
segments are given to anybody. What a killed process left of a last line is cut off.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sasayaki.audio.constants import SAMPLE_RATE
from sasayaki.audio.samples import Samples
from sasayaki.errors import OutputError
from sasayaki.records import from_plain, to_plain
from sasayaki.transcribe.requests import Place, WindowResult, Windows

FORMAT = "sasayaki-journal"
VERSION = 1

_BLOCK_SAMPLES = 60 * SAMPLE_RATE


class Journal:
    """The windows of one transcription on disk.

    Args:
        path: of the file; it is made if it is missing, and begun anew if it belongs to other work.
        work: what is transcribed and how, as values of JSON; equal work gives equal windows.

    Raises:
        OutputError: the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], work: Mapping[str, Any]) -> None:
        self._path = Path(path)
        header = _line({"format": FORMAT, "version": VERSION, "work": dict(work)})
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by `close`)
            self.windows = self._read(header)
        except OSError as error:
            raise self._error(error) from error
        if not self._file.tell():
            self._write(header)

    def _read(self, header: bytes) -> list[WindowResult]:
        """The windows that are there, of the same work and whole; what follows them is cut off."""
        self._file.seek(0)
        lines = self._file.read().splitlines(keepends=True)
        windows: list[WindowResult] = []
        n_bytes = 0
        if lines and lines[0] == header:
            n_bytes = len(header)
            for line in lines[1:]:
                window = _window(line)
                if window is None:
                    break
                windows.append(window)
                n_bytes += len(line)
        self._file.truncate(n_bytes)
        self._file.seek(n_bytes)
        return windows

    def append(self, window: WindowResult) -> None:
        """Add a window; it is on disk when this returns.

        Raises:
            OutputError: it cannot be written.
        """
        self._write(_line(to_plain(window)))

    def _write(self, line: bytes) -> None:
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Let go of the file; it stays."""
        self._file.close()

    def _error(self, error: OSError) -> OutputError:
        return OutputError(f"cannot keep the journal {self._path}: {error.strerror or error}")


def go_on(journal: Journal, run: Callable[[Place], Windows], begin: Place, *, channel: int | None) -> Windows:
    """The windows of a channel in a journal, then those that `run` gives from there on, each kept in the journal."""
    kept = [window for window in journal.windows if window.channel == channel]
    return _go_on(journal, kept, run(kept[-1].place if kept else begin))


def _go_on(journal: Journal, kept: Sequence[WindowResult], running: Windows) -> Windows:
    yield from kept
    with closing(running) as windows:
        for window in windows:
            journal.append(window)
            yield window


def checksum(samples: Samples) -> int:
    """A number that tells recordings apart."""
    total = 0
    for first in range(0, samples.n_samples, _BLOCK_SAMPLES):
        block = samples.read(first, min(first + _BLOCK_SAMPLES, samples.n_samples))
        total = zlib.crc32(block.tobytes(), total)
    return total


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, sort_keys=True).encode("ascii") + b"\n"


def _window(line: bytes) -> WindowResult | None:
    """The window of a line; None for one that is cut or damaged."""
    try:
        return from_plain(WindowResult, json.loads(line)) if line.endswith(b"\n") else None
    except (ValueError, OutputError):
        return None
