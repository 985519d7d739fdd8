"""Which files a run writes: formats, folder, and a name for each recording that no other one has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sasayaki.cli.inputs import STDIN, is_url, url_path
from sasayaki.errors import OptionError, OutputError
from sasayaki.writers import FORMATS, check_target, remove_leftovers

ALL = "all"


@dataclass(frozen=True, slots=True)
class Job:
    """A recording and the files that its transcription goes to.

    Attributes:
        file: the recording.
        name: of its files, without their endings.
        targets: the files.
        journal: what keeps the transcription until they are written; None when there are none.
    """

    file: str
    name: str
    targets: tuple[Path, ...]
    journal: Path | None = None

    @property
    def is_renamed(self) -> bool:
        """Whether the recording's own name was taken."""
        return self.name != stem(self.file)

    def check(self) -> None:
        """See that all targets can be written.

        Raises:
            OutputError: when one cannot.
        """
        for target in self.targets:
            check_target(target)

    @property
    def is_done(self) -> bool:
        """Whether an earlier run wrote all targets; a journal says that the latest one did not."""
        return self._has_targets and not (self.journal and self.journal.exists())

    @property
    def _has_targets(self) -> bool:
        return all(target.exists() for target in self.targets)

    def begin(self, *, resume: bool) -> None:
        """Clear what earlier runs left; targets that are there already get an empty journal, for they are to be redone.

        Args:
            resume: whether the journal of an earlier run is kept.

        Raises:
            OutputError: when that cannot be done.
        """
        if self.journal is None:
            return
        for target in self.targets if resume else ():
            remove_leftovers(target)
        try:
            if self._has_targets and not resume:
                self.journal.write_bytes(b"")
            elif not resume:
                self.journal.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write {self.journal}: {error.strerror or error}") from error

    def end(self) -> None:
        """Take the journal away, as all targets are written."""
        if self.journal is not None:
            self.journal.unlink(missing_ok=True)


def parse_formats(given: Sequence[str]) -> tuple[str, ...]:
    """Names of formats, without repetition, from values that may be comma lists or `all`.

    Raises:
        OptionError: when a name is unknown.
    """
    names = [name.strip().lower() for value in given for name in value.rstrip(", ").split(",")]
    for name in names:
        if name not in FORMATS and name != ALL:
            hint = "; recordings are named without an option" if "." in name else ""
            raise OptionError(f"output_format must be one of {', '.join(FORMATS)}, {ALL}, got {name!r}{hint}")
    return tuple(FORMATS) if ALL in names else tuple(dict.fromkeys(names))


def plan_jobs(files: Sequence[str], formats: Sequence[str], folder: Path) -> list[Job]:
    """One job per recording; its files are called like the recording, `talk.mp3` gives `talk.srt`.

    When several recordings of a run have the same name, the first keeps it and the others get a number:
    `talk-2.srt`. Names that differ only in case count as the same, as some file systems hold it.
    """
    stems = [stem(file) for file in files]
    own, taken = {each.casefold() for each in stems}, set[str]()
    jobs = []
    for file, own_name in zip(files, stems, strict=True):
        name, number = own_name, 1
        while name.casefold() in taken or (number > 1 and name.casefold() in own):
            number += 1
            name = f"{own_name}-{number}"
        taken.add(name.casefold())
        targets = tuple(folder / f"{name}.{FORMATS[each].ending}" for each in formats)
        jobs.append(Job(file, name, targets, folder / f".{name}.sasayaki" if targets else None))
    return jobs


def stem(file: str) -> str:
    """What files that are written for a recording are called, without an ending."""
    if file == STDIN:
        return "stdin"
    path = (url_path(file) or "").rstrip("/") if is_url(file) else file
    return os.path.splitext(os.path.basename(path))[0] or "recording"
