"""The container of events: recorded into by a model, written to a file, read back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

from sasayaki.errors import OutputError, TraceError
from sasayaki.trace.events import AttentionMap, DecodeFinished, DecodeStarted, DecodeStep, Event, WindowFinished
from sasayaki.trace.lines import from_line, to_line

FORMAT = "sasayaki-trace"
VERSION = 1
"""Of the file format; another one cannot be read."""

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class TracedDecode:
    """All events of one decode.

    Attributes:
        started: how it began.
        steps: its steps in order.
        finished: its result; None when it was broken off.
        attention: where the alignment heads looked; None where the engine cannot tell.
    """

    started: DecodeStarted
    steps: tuple[DecodeStep, ...]
    finished: DecodeFinished | None
    attention: AttentionMap | None

    def winning_rows(self) -> list[int]:
        """For each step on the way of the result, the index of the row that became it.

        Empty when the decode was broken off, or its steps do not lead to its result.
        """
        if self.finished is None or not self.finished.hypotheses:
            return []
        way = self.finished.hypotheses[0].sampled(self.started.eot)
        if not 0 < len(way) <= len(self.steps):
            return []
        rows = _origins(self.steps[len(way) - 1], way)
        if not rows:
            return []
        path = [rows[0]]
        for step in reversed(self.steps[: len(way) - 1]):
            path.append(step.living[path[-1]].row)
        return path[::-1]


def _origins(step: DecodeStep, way: tuple[int, ...]) -> list[int]:
    """The rows of a step that may have grown into `way`.

    Samples that agree are rows with the same tokens; those that went on as `way` did come first.
    """
    grown = {one.row for one in (*step.finished, *step.living) if one.token == way[-1]}
    same = [place for place, row in enumerate(step.rows) if row.tokens == way[:-1]]
    return sorted(same, key=lambda place: place not in grown)


class Trace:
    """What a decoder did, event by event.

    Pass it to `decode`, `transcribe` or `stream` of a model as `trace=`; several calls may share one, one at a time.

    Args:
        events: to begin with.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)
        self._decodes = count(1 + max((started.decode for started in self.of(DecodeStarted)), default=-1))
        self._windows = count(1 + max((finished.window for finished in self.of(WindowFinished)), default=-1))

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __repr__(self) -> str:
        return f"Trace({len(self)} events)"

    def record(self, event: Event) -> None:
        """Add an event."""
        self._events.append(event)

    def next_decode(self) -> int:
        """A number for the next decode."""
        return next(self._decodes)

    def next_window(self) -> int:
        """A number for the next window of a transcription."""
        return next(self._windows)

    def of(self, kind: type[_Kind]) -> list[_Kind]:
        """The events of one kind."""
        return [event for event in self._events if isinstance(event, kind)]

    def windows(self) -> list[WindowFinished]:
        """The windows of a transcription."""
        return self.of(WindowFinished)

    def decodes(self) -> list[TracedDecode]:
        """The decodes, each with its events."""
        steps: dict[int, list[DecodeStep]] = {}
        for step in self.of(DecodeStep):
            steps.setdefault(step.decode, []).append(step)
        finished = {event.decode: event for event in self.of(DecodeFinished)}
        attention = {event.decode: event for event in self.of(AttentionMap)}
        return [
            TracedDecode(
                started,
                tuple(steps.get(started.decode, ())),
                finished.get(started.decode),
                attention.get(started.decode),
            )
            for started in self.of(DecodeStarted)
        ]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write lines of JSON: a header, then one line for each event.

        Raises:
            OutputError: the file cannot be written.
        """
        header = json.dumps({"format": FORMAT, "version": VERSION})
        try:
            with open(path, "w", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(header + "\n")
                file.writelines(to_line(event) + "\n" for event in self)
        except OSError as error:
            raise OutputError(f"cannot write the trace {Path(path)}: {error.strerror or error}") from error

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Trace:
        """Read what `write` wrote.

        Raises:
            TraceError: the file cannot be read, is no trace, or is one of another version.
        """
        try:
            with open(path, encoding="utf-8") as file:
                _check_header(file.readline(), path)
                return cls(_event(line, number, path) for number, line in enumerate(file, start=2))
        except (OSError, UnicodeDecodeError) as error:
            raise TraceError(f"cannot read the trace {Path(path)}: {error}") from error


def _check_header(line: str, path: str | os.PathLike[str]) -> None:
    try:
        header = json.loads(line)
        is_trace = header["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        is_trace = False
    if not is_trace:
        raise TraceError(f"{Path(path)} is no trace: its first line should say {FORMAT!r}; make one with Trace.write")
    if header.get("version") != VERSION:
        raise TraceError(
            f"{Path(path)} is a trace of version {header.get('version')}, this sasayaki reads version {VERSION}; "
            "read it with the sasayaki that wrote it"
        )


def _event(line: str, number: int, path: str | os.PathLike[str]) -> Event:
    try:
        return from_line(line)
    except ValueError as error:
        raise TraceError(f"line {number} of the trace {Path(path)} cannot be read: {error}") from error
