"""The formats by name, and the two functions that use them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from sasayaki.errors import OutputError
from sasayaki.results import Transcription
from sasayaki.writers import json_file, srt, tsv, txt, vtt
from sasayaki.writers.files import write_text


class Writer(Protocol):
    """A format: the whole content of the file as text."""

    def __call__(self, transcription: Transcription, /) -> str:
        """The content of the file."""


FORMATS: Mapping[str, Writer] = MappingProxyType(
    {
        "txt": txt.render,
        "json": json_file.render,
        "srt": srt.render,
        "vtt": vtt.render,
        "tsv": tsv.render,
    }
)
"""Writers by name; the name is the ending of the file too."""


def render(transcription: Transcription, output_format: str) -> str:
    """The content of a file of that format.

    Raises:
        OutputError: when the format is unknown.
    """
    if output_format not in FORMATS:
        raise OutputError(f"the format must be one of {', '.join(FORMATS)}, got {output_format!r}")
    return FORMATS[output_format](transcription)


def write(transcription: Transcription, path: str | os.PathLike[str]) -> None:
    """Write a file in the format that its ending names (`talk.srt`), whole or not at all.

    Raises:
        OutputError: when the ending names no format or the file cannot be written.
    """
    ending = os.path.splitext(os.fspath(path))[1]
    write_text(path, render(transcription, ending.removeprefix(".").lower()))
