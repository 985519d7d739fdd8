"""The command `sasayaki`: reads the arguments, runs a command, turns errors into a line and an exit code."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from types import MappingProxyType
from typing import Annotated, Any, Union

import tyro

from sasayaki import __version__
from sasayaki.cli.align import Align
from sasayaki.cli.console import (
    DONE,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    NoRoomError,
    Terminated,
    complain_about,
    forget_stdout,
    note,
    prepare_streams,
    say,
    tidy_end,
    warnings_as_notes,
)
from sasayaki.cli.detect_language import DetectLanguage
from sasayaki.cli.inspect import Inspect
from sasayaki.cli.loading import Command
from sasayaki.cli.models import Models
from sasayaki.cli.transcribe import Transcribe
from sasayaki.cli.unknown import Commands, check_arguments, complaint
from sasayaki.cli.values import make_registry
from sasayaki.errors import OptionError

COMMANDS: Commands = MappingProxyType(
    {"transcribe": Transcribe, "detect-language": DetectLanguage, "align": Align, "inspect": Inspect, "models": Models}
)
"""The commands by name."""

_ANY_COMMAND: Any = Union[tuple(Annotated[each, tyro.conf.subcommand(name)] for name, each in COMMANDS.items())]  # noqa: UP007
_LEAST_COLUMNS = 60
_MISSING_VALUE = re.compile(r"Missing value for argument '(?:-\w/)?([^']*)'.*")
_DESCRIPTION = "Whisper speech recognition. `sasayaki --version` prints the version."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code.

    0 means that all is done, 1 an unexpected error, 2 that something given cannot be used, 3 that a recording took
    longer than `--time_limit` (the rest is done all the same), 130 that it was interrupted, 143 the same by SIGTERM.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    debug = False
    try:
        if arguments == ["--version"]:
            say(__version__)
            return DONE
        command = parse(arguments)
        debug = command.debug
        with tidy_end(), warnings_as_notes():
            return command.run()
    except SystemExit as asked:  # --help
        return asked.code if isinstance(asked.code, int) else DONE
    except KeyboardInterrupt as end:
        note("sasayaki: interrupted")
        return TERMINATED if isinstance(end, Terminated) else INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return FAILED
    except NoRoomError as error:
        forget_stdout()
        return complain_about(error, debug=debug)
    except Exception as error:
        return complain_about(error, debug=debug)


def parse(arguments: Sequence[str]) -> Command:
    """The command that the arguments ask for.

    Raises:
        OptionError: when they cannot be used.
        SystemExit: after printing a help text that was asked for.
    """
    check_arguments(arguments, COMMANDS)
    said = io.StringIO()
    try:
        with redirect_stderr(said), _room_for_words():
            command, unknown = tyro.cli(
                _ANY_COMMAND,
                prog="sasayaki",
                description=_DESCRIPTION,
                args=list(arguments),
                registry=make_registry(),
                return_unknown_args=True,
            )
    except SystemExit as end:
        if end.code in (None, DONE):
            raise
        raise OptionError(_first_section(said.getvalue())) from None
    if unknown:
        raise OptionError(complaint(unknown, arguments, COMMANDS))
    return command  # type: ignore[no-any-return]


@contextmanager
def _room_for_words() -> Iterator[None]:
    """Let tyro lay out its text for 60 columns at least: in very few it takes minutes, and breaks up words."""
    if shutil.get_terminal_size().columns >= _LEAST_COLUMNS:
        yield
        return
    given = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(_LEAST_COLUMNS)
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if given is not None:
            os.environ["COLUMNS"] = given


def _first_section(box: str) -> str:
    """What tyro complains of, without the title, the frame, and the help texts below; in any encoding's frame."""
    lines = [line.strip("│╭╮╰╯ ") for line in box.splitlines()]
    sections = re.split(r"^[─-]+$", "\n".join(lines[1:]), flags=re.MULTILINE)
    words = next((" ".join(section.split()) for section in sections if section.strip()), "the arguments cannot be read")
    return _MISSING_VALUE.sub(r"option \1 needs a value behind it; one that begins with - is given as \1=-…", words)
