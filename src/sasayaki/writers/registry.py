"""The formats by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sasayaki.errors import OutputError
from sasayaki.options import WriterOptions
from sasayaki.results import Transcription
from sasayaki.writers import ass, audacity, csv_file, json_file, lrc, paragraphs, srt, tsv, txt, vtt
from sasayaki.writers.channels import labelled
from sasayaki.writers.composer import Composer


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file.

    Attributes:
        compose: begins the content of one file.
        ending: what the name of a file ends with, behind the dot.
    """

    compose: Callable[[WriterOptions], Composer]
    ending: str


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "txt": Format(labelled(txt.compose), "txt"),
        "json": Format(json_file.compose, "json"),
        "srt": Format(labelled(srt.compose), "srt"),
        "vtt": Format(labelled(vtt.compose), "vtt"),
        "tsv": Format(labelled(tsv.compose), "tsv"),
        "lrc": Format(labelled(lrc.compose), "lrc"),
        "ass": Format(labelled(ass.compose), "ass"),
        "csv": Format(csv_file.compose, "csv"),
        "paragraphs": Format(labelled(paragraphs.compose), "paragraphs.txt"),
        "audacity": Format(labelled(audacity.compose), "labels.txt"),
    }
)
"""Formats by name."""


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format that the ending of a file's name stands for; the longest ending that fits.

    Raises:
        OutputError: when it stands for none.
    """
    name = os.path.basename(os.fspath(path)).lower()
    fitting = [each for each in FORMATS.values() if name.endswith(f".{each.ending}")]
    if not fitting:
        endings = ", ".join(f".{each.ending}" for each in FORMATS.values())
        raise OutputError(f"the name must end with one of {endings}, got {name!r}")
    return max(fitting, key=lambda each: len(each.ending))


def render(transcription: Transcription, output_format: str, options: WriterOptions | None = None) -> str:
    """The content of a file of that format.

    Raises:
        OutputError: when the format is unknown.
    """
    if output_format not in FORMATS:
        raise OutputError(f"the format must be one of {', '.join(FORMATS)}, got {output_format!r}")
    composer = FORMATS[output_format].compose(options or WriterOptions())
    pieces = [composer.begin(), *map(composer.add, transcription.segments), composer.end(transcription)]
    return "".join(pieces)
