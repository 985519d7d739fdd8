"""What to say of arguments that no command, or not this one, understands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from typing import Any

from sasayaki.cli.console import one_line
from sasayaki.cli.loading import Command
from sasayaki.cli.peers import advice_on
from sasayaki.errors import OptionError

Commands = Mapping[str, type[Command]]
"""The commands by name."""


def check_arguments(arguments: Sequence[str], commands: Commands) -> None:
    """See that a command comes first, and no option of another engine behind it.

    Raises:
        OptionError: when it is not so.
    """
    if not arguments or (arguments[0] not in (*commands, "-h", "--help") and not arguments[0].startswith("--tyro-")):
        raise OptionError(_no_command(arguments, commands))
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    if advice := advice_on(arguments[:ends]):
        raise OptionError("; ".join(advice))


def _no_command(arguments: Sequence[str], commands: Commands) -> str:
    message = f"expected a command first, one of {', '.join(commands)}"
    if not arguments:
        return f"{message}; `sasayaki transcribe FILE` writes down what is said"
    first = arguments[0]
    close = [] if first.startswith("-") else get_close_matches(first, commands, n=1)
    given = next((each for each in arguments[1:] if each in commands), None)
    command = (close or [given or "transcribe"])[0]
    behind = "" if close else f" {_quoted(first)}"
    etc = " …" if len(arguments) > 1 else ""
    return f"{message}, got {first!r}; did you mean `sasayaki {command}{behind}{etc}`?"


def _quoted(argument: str) -> str:
    return argument if argument and not set(argument) & set(" \t\n'\"") else repr(argument)


def complaint(unknown: Sequence[str], arguments: Sequence[str], commands: Commands) -> str:
    """What is wrong with arguments that were left over, and what to do.

    Args:
        unknown: those left over, in order.
        arguments: all, the command first.
        commands: by name.
    """
    sentences, before = [], ""
    for argument in unknown:
        if argument.startswith("-"):
            sentences.append(_unknown_option(argument.partition("=")[0], arguments[0], commands))
        elif not (before.startswith("-") and "=" not in before):  # else the value of an option that is told already
            sentences.append(_stray(argument, arguments, commands))
        before = argument
    return "; ".join(dict.fromkeys(sentences))


def _unknown_option(option: str, command: str, commands: Commands) -> str:
    name = option.lstrip("-").replace("-", "_")
    own = option_names(commands[command])
    others = [each for each in commands if name in option_names(commands[each])]
    close = get_close_matches(name, own, n=2)
    if name.removeprefix("no_") in own:
        hint = f"write --{name.removeprefix('no_')} False, or leave it out"
    elif others:
        hint = f"it belongs to sasayaki {' and '.join(others)}"
    elif close:
        hint = f"did you mean {' or '.join(f'--{each}' for each in close)}?"
    else:
        hint = f"`sasayaki {command} --help` lists the options"
    return f"unknown option {one_line(option)}; {hint}"


def _stray(argument: str, arguments: Sequence[str], commands: Commands) -> str:
    before = arguments[arguments.index(argument) - 1]
    if before.startswith("-"):
        return f"{before} takes no value, got {argument!r}; leave that out"
    if "files" in (each.name for each in fields(commands[arguments[0]])):
        return f"{argument!r} stands apart; name all files in a row, before the options or behind them"
    return f"{argument!r} is one too many; `sasayaki {arguments[0]} --help` says what is expected"


def option_names(command: type[Any]) -> list[str]:
    """Names of the options of a command, with _ between words."""
    names = []
    for each in fields(command):
        if isinstance(each.default_factory, type) and is_dataclass(each.default_factory):
            names += option_names(each.default_factory)
        elif each.default is not MISSING and "is_object" not in each.metadata:
            names.append(each.name)
    return names
