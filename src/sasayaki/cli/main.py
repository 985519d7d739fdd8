"""The command `sasayaki`: reads the arguments, runs a command, turns errors into a line and an exit code."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Annotated

import tyro

from sasayaki import __version__
from sasayaki.cli.align import Align
from sasayaki.cli.console import (
    DONE,
    FAILED,
    INTERRUPTED,
    complain_about,
    forget_stdout,
    note,
    print_what_the_terminal_can,
    say,
    warnings_as_notes,
)
from sasayaki.cli.detect_language import DetectLanguage
from sasayaki.cli.inspect import Inspect
from sasayaki.cli.loading import Command
from sasayaki.cli.models import Models
from sasayaki.cli.transcribe import Transcribe
from sasayaki.cli.values import make_registry
from sasayaki.errors import OptionError

_COMMANDS = (
    Annotated[Transcribe, tyro.conf.subcommand("transcribe")]
    | Annotated[DetectLanguage, tyro.conf.subcommand("detect-language")]
    | Annotated[Align, tyro.conf.subcommand("align")]
    | Annotated[Inspect, tyro.conf.subcommand("inspect")]
    | Annotated[Models, tyro.conf.subcommand("models")]
)
_DESCRIPTION = "Whisper speech recognition. `sasayaki --version` prints the version."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code.

    0 means that all is done, 1 an unexpected error, 2 that something given cannot be used, 3 that a recording took
    longer than `--time_limit` (the rest is done all the same), 130 that it was interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    print_what_the_terminal_can()
    debug = False
    try:
        if arguments == ["--version"]:
            say(__version__)
            return DONE
        command = parse(arguments)
        debug = command.debug
        with warnings_as_notes():
            return command.run()
    except SystemExit as asked:  # --help
        return asked.code if isinstance(asked.code, int) else DONE
    except KeyboardInterrupt:
        note("sasayaki: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        forget_stdout()
        return FAILED
    except Exception as error:
        return complain_about(error, debug=debug)


def parse(arguments: Sequence[str]) -> Command:
    """The command that the arguments ask for.

    Raises:
        OptionError: when they cannot be used.
        SystemExit: after printing a help text that was asked for.
    """
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            command: Command = tyro.cli(
                _COMMANDS,
                prog="sasayaki",
                description=_DESCRIPTION,
                args=list(arguments),
                registry=make_registry(),
            )
    except SystemExit as end:
        if end.code in (None, DONE):
            raise
        raise OptionError(_first_sentence(said.getvalue())) from None
    return command


def _first_sentence(box: str) -> str:
    """What tyro complains of, without the frame, the help texts and the pointers around it."""
    lines = [line.strip("│╭╮╰╯ ") for line in box.splitlines()]
    sections = re.split(r"^─+$", "\n".join(lines[1:]), flags=re.MULTILINE)
    sentence = " ".join(sections[0].split())
    for section in sections[1:]:
        if section.strip().startswith("Perhaps you meant"):
            options = re.findall(r"^--[\w-]+", section, flags=re.MULTILINE)
            sentence += f"; did you mean {' or '.join(options)}?" if options else ""
        elif section.strip().startswith("Available subcommands"):
            sentence += "; " + " ".join(section.split()).lower()
    return sentence
