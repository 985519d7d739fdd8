"""The file of measurements, a line of JSON for each recording: appended to, so that a broken run can go on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """One engine's turn with a set of recordings.

    Attributes:
        model: name.
        engine: a name of `ENGINES`.
        beam: number of beams.
        policy: `matched` or `defaults`.
        set: name of the set of recordings.
        threads: threads of the engine.
        turn: number of the repeat, from 0.
    """

    model: str
    engine: str
    beam: int
    policy: str
    set: str
    threads: int
    turn: int


FIELDS = tuple(Measurement.__dataclass_fields__)


def read_records(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All lines; one that was cut by a crash is passed over."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return [record for record in map(_parsed, lines) if record is not None]


def done(records: Iterable[dict[str, Any]]) -> set[Measurement]:
    """The measurements that need not be taken again."""
    return {Measurement(**{name: record[name] for name in FIELDS}) for record in records}


def append(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Add lines in one go, so that a measurement is there as a whole; a cut line before them is ended."""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    is_cut = path.exists() and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" * is_cut + lines)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
