"""Files that are either written whole or not at all, and checks that they can be written."""

from __future__ import annotations

import os
import uuid
import zlib
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sasayaki.errors import OutputError


class PassingFile:
    """A file under a passing name beside its target, which takes the target's place when it is whole.

    What is written is handed to the system at once: it outlives the process. Left as a context without `commit`, the
    file is removed and the target stays as it was.

    Args:
        path: the target.

    Raises:
        OutputError: from every method, when the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = Path(path)
        self._passing = self.target.with_name(f"{_mark(self.target)}{uuid.uuid4().hex}.tmp")
        check_target(self.target)
        try:
            self._file = open(self._passing, "wb", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._error(error) from error

    def write(self, text: str) -> None:
        """Append `text` as UTF-8. Halves of surrogate pairs, which UTF-8 has no bytes for, become U+FFFD."""
        data = memoryview(_to_utf8(text))
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise self._error(error) from error

    def commit(self) -> None:
        """Give the file its name; readers see the old file or the new one, and so does who starts after a power cut."""
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._passing, self.target)
        except OSError as error:
            raise self._error(error) from error

    def abort(self) -> None:
        """Remove the file, unless it was committed."""
        with suppress(OSError):
            self._file.close()
            self._passing.unlink(missing_ok=True)

    def __enter__(self) -> PassingFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def _error(self, error: Exception) -> OutputError:
        return OutputError(f"cannot write {self.target}: {_reason(error)}")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        OutputError: when the file cannot be written.
    """
    with PassingFile(path) as file:
        file.write(text)
        file.commit()


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the passing files that killed processes left of a target.

    Raises:
        OutputError: when one cannot be removed.
    """
    target = Path(path)
    try:
        for passing in target.parent.glob(f"{_mark(target)}*.tmp"):
            passing.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"cannot remove what is left of {target}: {_reason(error)}") from error


def _mark(target: Path) -> str:
    """What the names of a target's passing files begin with; short, whatever the target is called."""
    return f".sasayaki-{zlib.crc32(os.fsencode(target.name)):08x}-"


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
