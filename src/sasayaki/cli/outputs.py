"""Which files a run writes: formats, folder, and a name for each recording that no other one has."""

from __future__ import annotations

import os
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sasayaki.cli.inputs import STDIN, WRITTEN, ending, is_url, url_path
from sasayaki.errors import OptionError, OutputError
from sasayaki.writers import FORMATS, check_target, remove_leftovers

ALL = "all"

_LONGEST_NAME = 255
"""Bytes that file systems allow for a name."""


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
        """See that all targets can be written, and none over the recording.

        Raises:
            OutputError: when one cannot.
        """
        for target in self.targets:
            check_target(target)
            if os.path.exists(target) and os.path.exists(self.file) and os.path.samefile(target, self.file):
                raise OutputError(f"{target} is the recording and would be written over; choose another output_dir")

    @property
    def is_done(self) -> bool:
        """Whether an earlier run wrote all targets of this very recording.

        A journal says that the latest one did not; a recording that is newer than its files has changed; what comes
        from standard input is never known.
        """
        if not self._has_targets or self.file == STDIN or (self.journal and self.journal.exists()):
            return False
        if is_url(self.file):
            return True
        return os.path.getmtime(self.file) <= min(target.stat().st_mtime for target in self.targets)

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
        """Take the journal away, as all targets are written.

        Raises:
            OutputError: when it cannot be removed.
        """
        try:
            if self.journal is not None:
                self.journal.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(f"cannot remove {self.journal}: {error.strerror or error}; remove it") from error


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
    jobs = []
    for file, name in zip(files, _names(files), strict=True):
        targets = tuple(folder / f"{name}.{FORMATS[each].ending}" for each in formats)
        jobs.append(Job(file, name, targets, folder / _journal_name(name) if targets else None))
    return jobs


def _names(files: Sequence[str]) -> list[str]:
    """A name for each recording; what ends like a text that is written beside one comes last in line."""
    own, taken = {_same(stem(file)) for file in files}, set[str]()
    names = [stem(file) for file in files]
    for at in sorted(range(len(files)), key=lambda at: ending(files[at]) in WRITTEN):
        own_name, number = names[at], 1
        while _same(names[at]) in taken or (number > 1 and _same(names[at]) in own):
            number += 1
            names[at] = f"{own_name}-{number}"
        taken.add(_same(names[at]))
    return names


def _same(name: str) -> str:
    """Equal for names that some file system holds for the same: in case, and in how accents are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _journal_name(name: str) -> str:
    whole = f".{name}.sasayaki"
    return whole if len(os.fsencode(whole)) <= _LONGEST_NAME else f".{zlib.crc32(os.fsencode(name)):08x}.sasayaki"


def stem(file: str) -> str:
    """What files that are written for a recording are called, without an ending."""
    if file == STDIN:
        return "stdin"
    path = (url_path(file) or "").rstrip("/") if is_url(file) else file
    return os.path.splitext(os.path.basename(path))[0] or "recording"
