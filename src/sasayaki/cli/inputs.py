"""Recordings named on the command line: files, or `-` for standard input."""

from __future__ import annotations

import os
import sys

from sasayaki.errors import AudioError, OptionError

STDIN = "-"


def check_files(files: tuple[str, ...]) -> None:
    """See that there is at least one.

    Raises:
        OptionError: when there is none.
    """
    if not files:
        raise OptionError("name at least one file to read, or - for standard input")


def check_input(file: str) -> None:
    """See that a file is there, before a model is loaded for it.

    Raises:
        AudioError: when it is not, or is a folder.
    """
    if file == STDIN:
        return
    if not os.path.exists(file):
        raise AudioError(f"no such file: {file}")
    if os.path.isdir(file):
        raise AudioError(f"expected a recording, got a folder: {file}")


def read_input(file: str) -> str | bytes:
    """What `load_audio` takes: the path, or the bytes of standard input."""
    return sys.stdin.buffer.read() if file == STDIN else file
