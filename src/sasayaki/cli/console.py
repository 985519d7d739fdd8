"""What the commands say: results on stdout, one line per problem on stderr, and the exit code of it all."""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sasayaki.errors import OptionError, SasayakiError, StoppedError

DONE, FAILED, BAD_INPUT, STOPPED, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: all is well; an unexpected error; something that the user gave cannot be used; out of time; Ctrl-C."""

_Work = TypeVar("_Work")


def say(line: str) -> None:
    """Write a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def note(message: str) -> None:
    """Write a message to stderr, on one line whatever it holds."""
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
        BrokenPipeError: at once, for nobody reads on.
    """
    codes = {DONE}
    for work in works:
        try:
            do(work)
        except (OptionError, BrokenPipeError):
            raise
        except Exception as error:
            codes.add(complain_about(error, about=name(work), debug=debug))
    return worst(*codes)


def worst(*codes: int) -> int:
    """The exit code of a run that did several things."""
    return next(code for code in (FAILED, BAD_INPUT, STOPPED, DONE) if code in codes)


def one_line(text: str) -> str:
    """The lines of a text joined to one, list items by semicolons."""
    joined = ""
    for line in filter(None, (line.strip().removeprefix("- ") for line in text.splitlines())):
        joined += line if not joined else f" {line}" if joined[-1] in ".:;," else f"; {line}"
    return joined


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings as a line on stderr, without the place in the code."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        note(f"sasayaki: warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_what_the_terminal_can() -> None:
    """Let stdout replace characters that its encoding lacks instead of failing on them."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def forget_stdout() -> None:
    """After a broken pipe: keep the interpreter from flushing into it at exit."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
