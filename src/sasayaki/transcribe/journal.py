"""A file that keeps the windows of a transcription as they become final, so that a later run goes on behind them.

Lines of JSON: the first says what is transcribed and how, each further one is a window. Before the JSON stands a
checksum of all JSON so far. A line is on disk before its segments are given to anybody. From the first line on that is
cut, changed, doubled or out of place, all is cut off.
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
VERSION = 2

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
        self._checksum = 0
        header = _to_json({"format": FORMAT, "version": VERSION, "work": dict(work)})
        try:
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by `close`)
            self.windows = self._read(header)
        except OSError as error:
            raise self._error(error) from error
        if not self._file.tell():
            self._add(header)

    def _read(self, header: bytes) -> list[WindowResult]:
        """The windows that are there, of the same work and whole; what follows them is cut off."""
        self._file.seek(0)
        lines = self._file.read().splitlines(keepends=True)
        windows: list[WindowResult] = []
        n_bytes = 0
        if lines and lines[0] == _line(header, 0):
            n_bytes = len(lines[0])
            self._checksum = zlib.crc32(header)
            for line in lines[1:]:
                window = _window(line, self._checksum)
                if window is None:
                    break
                windows.append(window)
                n_bytes += len(line)
                self._checksum = zlib.crc32(_content(line), self._checksum)
        self._file.truncate(n_bytes)
        self._file.seek(n_bytes)
        return windows

    def append(self, window: WindowResult) -> None:
        """Add a window; it is on disk when this returns.

        Raises:
            OutputError: it cannot be written.
        """
        self._add(_to_json(to_plain(window)))

    def _add(self, content: bytes) -> None:
        self._write(_line(content, self._checksum))
        self._checksum = zlib.crc32(content, self._checksum)

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


def _to_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, allow_nan=False, sort_keys=True).encode("ascii")


def _line(content: bytes, checksum_before: int) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(content, checksum_before), content)


def _content(line: bytes) -> bytes:
    return line[9:-1]


def _window(line: bytes, checksum_before: int) -> WindowResult | None:
    """The window of a line; None for one that is cut, damaged or in the wrong place."""
    if line != _line(_content(line), checksum_before):
        return None
    try:
        return from_plain(WindowResult, json.loads(_content(line)))
    except (ValueError, OutputError):
        return None
