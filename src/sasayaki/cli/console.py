"""What the commands say: results on stdout, one line per problem on stderr, and the exit code of it all."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from sasayaki.errors import OptionError, OutputError, SasayakiError, StoppedError

DONE, FAILED, BAD_INPUT, STOPPED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
"""Exit codes: all is well; an unexpected error; something that the user gave cannot be used; out of time; Ctrl-C;
SIGTERM."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")

_Work = TypeVar("_Work")


class NoRoomError(OutputError):
    """Nothing more can be written to stdout."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def say(line: str) -> None:
    """Write a line to stdout at once.

    Raises:
        NoRoomError: it cannot be written.
        BrokenPipeError: nobody reads on.
    """
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NoRoomError(f"cannot write to standard output: {error.strerror or error}; give it room") from error


def note(message: str) -> None:
    """Write a message to stderr, on one line whatever it holds; it is no harm if nobody can read it there."""
    with suppress(OSError):
        sys.stderr.write(f"{one_line(message)}\n")
        sys.stderr.flush()


def complain(message: str) -> None:
    """Write an error to stderr, on one line whatever it holds."""
    note(f"sasayaki: error: {message}")


def complain_about(error: Exception, *, about: str = "", debug: bool = False) -> int:
    """Report an error and give its exit code; `about` is put in front unless the message names it."""
    is_expected = isinstance(error, SasayakiError)
    message = str(error) if is_expected else f"unexpected {type(error).__name__}: {error}"
    if debug:
        sys.stderr.write("".join(traceback.format_exception(error)))
    elif not is_expected:
        message += " (--debug shows where)"
    complain(f"{about}: {message}" if about and about not in message else message)
    return STOPPED if isinstance(error, StoppedError) else BAD_INPUT if is_expected else FAILED


def for_each(works: Iterable[_Work], do: Callable[[_Work], None], *, name: Callable[[_Work], str], debug: bool) -> int:
    """Do all works, report those that fail, and give the exit code of them all.

    Raises:
        OptionError: at once, for it would come again with every work.
        NoRoomError: at once, for the same reason.
        BrokenPipeError: at once, for nobody reads on.
    """
    codes = {DONE}
    for work in works:
        try:
            do(work)
        except (OptionError, NoRoomError, BrokenPipeError):
            raise
        except Exception as error:
            codes.add(complain_about(error, about=name(work), debug=debug))
    return worst(*codes)


def worst(*codes: int) -> int:
    """The exit code of a run that did several things."""
    return next(code for code in (FAILED, BAD_INPUT, STOPPED, DONE) if code in codes)


def one_line(text: str) -> str:
    """The lines of a text joined to one, list items by semicolons; what would steer a terminal is escaped."""
    joined = ""
    for line in filter(None, (line.strip().removeprefix("- ") for line in text.splitlines())):
        joined += line if not joined else f" {line}" if joined[-1] in ".:;," else f"; {line}"
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", joined.replace("\t", " "))


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings as a line on stderr, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        note(f"sasayaki: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def prepare_streams() -> None:
    """Let stdout replace characters that its encoding lacks instead of failing on them; what is closed swallows all."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        forget_stdout()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


@contextmanager
def tidy_end() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that no passing file is left."""

    def end(*_: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def forget_stdout() -> None:
    """Keep the interpreter from flushing at exit into what is closed or full."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
