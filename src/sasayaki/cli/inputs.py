"""Recordings named on the command line: files, folders, patterns, URLs, or `-` for standard input."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from tempfile import TemporaryFile
from typing import Any
from urllib.parse import urlsplit

from sasayaki.errors import AudioError, OptionError
from sasayaki.writers import FORMATS

STDIN = "-"

# fmt: off
ENDINGS = frozenset([
    "3gp", "aac", "ac3", "aif", "aiff", "amr", "ape", "au", "avi", "caf", "flac", "flv", "gsm", "m4a", "m4b",
    "m4v", "mka", "mkv", "mov", "mp2", "mp3", "mp4", "mpeg", "mpg", "mts", "oga", "ogg", "ogv", "opus", "ra",
    "rm", "spx", "ts", "voc", "vob", "w64", "wav", "webm", "wma", "wmv", "wv",
])
# fmt: on
"""Endings of the files of a folder that are taken for recordings."""

WRITTEN = frozenset(each.ending.rpartition(".")[2] for each in FORMATS.values())
"""Endings of what is written beside recordings."""


def check_files(files: Sequence[str]) -> None:
    """See that there is at least one, and standard input only once.

    Raises:
        OptionError: when it is not so.
    """
    if not files:
        raise OptionError("name at least one file to read, or - for standard input")
    if list(files).count(STDIN) > 1:
        raise OptionError("standard input can be read once, got - more than once")


def expand(file: str) -> list[str]:
    """The recordings that an argument stands for, by name.

    A folder stands for the recordings in it and in the folders below, told by their endings; a name with `*`, `?` or
    `[` that no file bears is a pattern, in which `**` reaches into folders, for all but what is written beside
    recordings (`talk.srt`); anything else stands for itself.

    Raises:
        AudioError: when a folder or a pattern stands for none.
    """
    if os.path.isdir(file):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(file) for name in names]
        recordings = [each for each in found if ending(each) in ENDINGS]
        if not recordings:
            raise AudioError(f"expected a recording, got a folder without any: {file}")
        return sorted(recordings)
    if glob.has_magic(file) and not is_url(file) and not os.path.exists(file):
        found = glob.glob(file, recursive=True)
        matches = sorted(each for each in found if not os.path.isdir(each) and ending(each) not in WRITTEN)
        if not matches:
            raise AudioError(f"no file matches {file}")
        return matches
    return [file]


def ending(file: str) -> str:
    """What the name ends with, behind the last dot, in lower case."""
    return os.path.splitext(file)[1].lower().removeprefix(".")


def check_input(file: str) -> None:
    """See that a file is there, before a model is loaded for it.

    Raises:
        AudioError: when it is not, or is a folder.
    """
    if file == STDIN:
        return
    if is_url(file):
        if url_path(file) is None:
            raise AudioError(f"expected a URL such as https://example.org/talk.mp3, got {file}")
        return
    if not os.path.exists(file):
        if not file:
            raise AudioError("expected the name of a recording, got an empty one")
        raise AudioError(f"no such file: {file}; {_where_to_look(file)}")
    if os.path.isdir(file):
        raise AudioError(f"expected a recording, got a folder: {file}")


def _where_to_look(file: str) -> str:
    folder, name = os.path.split(file)
    if os.path.lexists(file):
        return "it is a link to one that is gone"
    try:
        close = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.8)
        here = os.getcwd()
    except (OSError, ValueError):
        return f"there is no folder {folder or '.'} that can be read"
    if close:
        return f"did you mean {os.path.join(folder, close[0])}?"
    return f"look into {folder or here}"


def is_url(file: str) -> bool:
    """Whether it names something to fetch, such as `https://…`, and no file."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", file)) and not os.path.exists(file)


def url_path(url: str) -> str | None:
    """The part of a URL that names a file; None when the URL cannot be read."""
    try:
        return urlsplit(url).path if urlsplit(url).netloc or urlsplit(url).scheme == "file" else None
    except ValueError:
        return None


@contextmanager
def open_input(file: str) -> Iterator[Any]:
    """What `load_audio` takes: the path, or a file in which one can go back and forth.

    Raises:
        OptionError: the extra for URLs is not installed.
        AudioError: a URL cannot be read.
    """
    if file == STDIN:
        if sys.stdin is None:
            raise AudioError("expected a recording on standard input, which is closed")
        with TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            copy.seek(0)
            yield copy
    elif is_url(file):
        from sasayaki.cli.urls import open_url

        with open_url(file) as remote:
            yield remote
    else:
        yield file
