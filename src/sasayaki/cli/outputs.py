"""Which files a run writes: formats, folder, and a name for each recording that no other one has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sasayaki.cli.inputs import STDIN
from sasayaki.errors import OptionError
from sasayaki.options import WriterOptions
from sasayaki.results import Transcription
from sasayaki.writers import FORMATS, check_target, write

ALL = "all"


@dataclass(frozen=True, slots=True)
class Job:
    """A recording and the files that its transcription goes to."""

    file: str
    name: str
    targets: tuple[Path, ...]

    @property
    def is_renamed(self) -> bool:
        """Whether the recording's own name was taken."""
        return self.name != _stem(self.file)

    def check(self) -> None:
        """See that all targets can be written.

        Raises:
            OutputError: when one cannot.
        """
        for target in self.targets:
            check_target(target)

    def write(self, transcription: Transcription, options: WriterOptions | None = None) -> None:
        """Write all targets.

        Raises:
            OutputError: when one cannot be written.
        """
        for target in self.targets:
            write(transcription, target, options)


def parse_formats(given: Sequence[str]) -> tuple[str, ...]:
    """Names of formats, without repetition, from values that may be comma lists or `all`.

    Raises:
        OptionError: when a name is unknown.
    """
    names = [name.strip().lower() for value in given for name in value.split(",")]
    for name in names:
        if name not in FORMATS and name != ALL:
            raise OptionError(f"output_format must be one of {', '.join(FORMATS)}, {ALL}, got {name!r}")
    return tuple(FORMATS) if ALL in names else tuple(dict.fromkeys(names))


def plan_jobs(files: Sequence[str], formats: Sequence[str], folder: Path) -> list[Job]:
    """One job per recording; its files are called like the recording, `talk.mp3` gives `talk.srt`.

    When several recordings of a run have the same name, the first keeps it and the others get a number:
    `talk-2.srt`. Names that differ only in case count as the same, as some file systems hold it.
    """
    stems = [_stem(file) for file in files]
    own, taken = {stem.casefold() for stem in stems}, set[str]()
    jobs = []
    for file, stem in zip(files, stems, strict=True):
        name, number = stem, 1
        while name.casefold() in taken or (number > 1 and name.casefold() in own):
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.casefold())
        jobs.append(Job(file, name, tuple(folder / f"{name}.{FORMATS[each].ending}" for each in formats)))
    return jobs


def _stem(file: str) -> str:
    return "stdin" if file == STDIN else os.path.splitext(os.path.basename(file))[0]
