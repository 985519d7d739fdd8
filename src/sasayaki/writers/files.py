"""Files that are either written whole or not at all, and checks that they can be written."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sasayaki.errors import OutputError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 under a passing name, then rename: readers see the old file or the new one.

    Halves of surrogate pairs, which UTF-8 has no bytes for, become U+FFFD.

    Raises:
        OutputError: when the file cannot be written.
    """
    target = Path(path)
    passing = target.with_name(f".sasayaki-{uuid.uuid4().hex}.tmp")
    try:
        try:
            passing.write_bytes(_to_utf8(text))
            os.replace(passing, target)
        finally:
            passing.unlink(missing_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise OutputError(f"cannot write {target}: {_reason(error)}") from error


def prepare_folder(path: str | os.PathLike[str]) -> Path:
    """Make the folder if it is missing, and try a file in it.

    Raises:
        OutputError: when it cannot be made, is not a folder, or takes no files.
    """
    folder = Path(path)
    trial = folder / f".sasayaki-{uuid.uuid4().hex}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            trial.touch()
        finally:
            trial.unlink(missing_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OutputError(f"cannot write into {folder}: it is a file, not a folder") from None
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write into the folder {folder}: {_reason(error)}") from error
    return folder


def check_target(path: str | os.PathLike[str]) -> None:
    """See that a file of that name can be written in its folder.

    Raises:
        OutputError: when the name is taken by a folder or not allowed.
    """
    try:
        os.stat(path)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot write {os.fspath(path)}: {_reason(error)}") from error
    if os.path.isdir(path):
        raise OutputError(f"cannot write {os.fspath(path)}: there is a folder of that name")


def _to_utf8(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
