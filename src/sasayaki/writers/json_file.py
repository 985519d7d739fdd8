"""JSON: everything that is known about a transcription, numbers finite or null, and back; see docs/formats.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from sasayaki.errors import OutputError
from sasayaki.options import WriterOptions
from sasayaki.records import from_plain
from sasayaki.results import Segment, Transcription

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes; fields that are added leave it as it is."""


class _JsonComposer:
    """One object; its segments stand first, one on each line, so that they can be written as they come."""

    def __init__(self) -> None:
        self._mark = "\n"

    def begin(self) -> str:
        return f'{{"schema_version": {SCHEMA_VERSION}, "segments": ['

    def add(self, segment: Segment) -> str:
        mark, self._mark = self._mark, ",\n"
        return mark + _dump(segment.to_dict())

    def end(self, transcription: Transcription) -> str:
        facts = {name: value for name, value in transcription.to_dict().items() if name != "segments"}
        return f"\n], {_dump(facts).removeprefix('{')}\n"


def compose(options: WriterOptions) -> _JsonComposer:
    """The fields of `Transcription`; `text`, `segments` and `language` as in openai/whisper's files."""
    return _JsonComposer()


def read_json(path: str | os.PathLike[str]) -> Transcription:
    """The transcription that a JSON file holds.

    Raises:
        OutputError: when the file cannot be read, or `parse_json` cannot read its content.
    """
    try:
        content = Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot read {os.fspath(path)}: {error}") from error
    return parse_json(content)


def parse_json(content: str) -> Transcription:
    """The transcription that was written as this JSON.

    Equal to the one written, but for what JSON cannot hold: numbers that were not finite are NaN, or None where that is
    allowed; objects among the options (`filters`, `scorers`) are gone. Fields that this version does not know are left
    out, missing ones have their defaults.

    Raises:
        OutputError: when it is no JSON, no transcription, or of a later schema version.
    """
    try:
        plain: Any = json.loads(content)
    except ValueError as error:
        raise OutputError(f"expected the JSON of a transcription: {error}") from error
    if not isinstance(plain, dict):
        raise OutputError(f"expected the JSON object of a transcription, got {type(plain).__name__}")
    version = plain.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise OutputError(f"this version reads schema_version up to {SCHEMA_VERSION}, got {version!r}; update sasayaki")
    return from_plain(Transcription, plain)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
