"""The checks of single values of options; an OptionError names the option, what was expected and what came.

Which options there are, and which go together, is for `options`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

from sasayaki.errors import OptionError
from sasayaki.languages import to_language_code


def parse_suppress_tokens(value: str | Sequence[int] | Iterable[int] | None) -> tuple[int, ...]:
    """Token ids of the option `suppress_tokens`; the caller's list is never changed.

    Raises:
        OptionError: when an entry is neither a token id nor -1.
    """
    if value is None:
        return ()
    if isinstance(value, str):
        entries: list[Any] = [entry for entry in value.replace(",", " ").split() if entry]
    elif is_collection(value):
        entries = list(value)
    else:
        raise OptionError(f"suppress_tokens must be token ids or a comma-separated string, got {value!r}")
    return tuple(_token_id("suppress_tokens", entry, least=-1) for entry in entries)


def parse_languages(value: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Codes of the option `languages`, each once, in the order given; None for None.

    Raises:
        OptionError: when an entry is no language, or there is none.
    """
    if value is None:
        return None
    if not isinstance(value, str) and not is_collection(value):
        raise OptionError(f"languages must be codes or names such as 'de,en' or ['de', 'en'], got {value!r}")
    entries = [entry for entry in value.split(",") if entry.strip()] if isinstance(value, str) else value
    codes = tuple(dict.fromkeys(to_language_code(entry) for entry in entries))
    if not codes:
        raise OptionError("languages must hold at least one language, got none; None allows all")
    return codes


def parse_clip_timestamps(value: str | Sequence[float]) -> tuple[float, ...]:
    """Seconds of the option `clip_timestamps`: starts and ends in turn, clips in the order given.

    Raises:
        OptionError: when an entry is not a number of seconds, or a clip ends before it starts.
    """
    try:
        entries = [entry for entry in value.split(",") if entry.strip()] if isinstance(value, str) else value
        seconds = tuple(float(entry) for entry in entries) if is_collection(entries) else None
    except (TypeError, ValueError, OverflowError):
        seconds = None
    if seconds is None:
        raise OptionError(f"clip_timestamps must be seconds such as '0,12.5' or [0, 12.5], got {value!r}")
    for second in seconds:
        check_number("clip_timestamps", second, least=0)
    for start, end in zip(seconds[::2], seconds[1::2], strict=False):
        if end < start:
            raise OptionError(
                f"clip_timestamps must give the start of a clip before its end, got {start},{end}; did you mean "
                f"{end},{start}?"
            )
    return seconds


def is_collection(value: object) -> TypeGuard[Iterable[Any]]:
    """Whether a value holds any number of others; text and mappings do not count."""
    if isinstance(value, (str, bytes, bytearray, Mapping)):
        return False
    try:
        iter(value)  # type: ignore[call-overload]
    except TypeError:  # a NumPy array without dimensions is an Iterable, but not by this
        return False
    return True


def check_choice(name: str, value: object, known: Sequence[str]) -> None:
    """Refuse anything but one of the `known` words."""
    if not isinstance(value, str) or value not in known:
        raise OptionError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def check_whole_number(name: str, value: object, *, least: int, most: int | None = None) -> None:
    """Refuse anything but None and whole numbers between `least` and `most`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise OptionError(f"{name} must be a whole number or None, got {value!r}")
    if int(value) < least:
        raise OptionError(f"{name} must be at least {least}, got {value}")
    if most is not None and int(value) > most:
        raise OptionError(f"{name} must be at most {most}, got {value}")


def objects_with(name: str, value: object, *, method: str) -> tuple[object, ...]:
    """The objects of an option that takes one or several, each with a method of this name."""
    members = tuple(value) if is_collection(value) else (value,)
    for member in members:
        if isinstance(member, type) or not callable(getattr(member, method, None)):
            raise OptionError(f"{name} must hold objects with a method {method}, got {member!r}")
    return members


def required(name: str, value: object) -> object:
    """The value of a number that None cannot stand for."""
    if value is None:
        raise OptionError(f"{name} must be a number, got None")
    return value


def check_number(name: str, value: object, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Refuse anything but None and finite numbers between `least` and `most`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(f"{name} must be a number, got {value!r}")
    if not _is_finite(value):
        raise OptionError(f"{name} must be finite, got {value}")
    if not least <= float(value) <= most:
        raise OptionError(f"{name} must {_range(least, most)}, got {value}")


def _range(least: float, most: float) -> str:
    if most == math.inf:
        return f"be at least {least}"
    return f"be at most {most}" if least == -math.inf else f"lie between {least} and {most}"


def _is_finite(value: Real) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an int too large for a float
        return False


def check_temperature(value: object) -> None:
    """Refuse anything but finite numbers that are not negative."""
    if value is None:
        raise OptionError("temperature must be a number, got None; 0 takes the likeliest tokens")
    check_number("temperature", value, least=0)


def check_call(name: str, value: object) -> None:
    """Refuse anything but None and what can be called."""
    if value is not None and not callable(value):
        raise OptionError(f"{name} must be a function or None, got {value!r}")


def check_path(name: str, value: object) -> None:
    """Refuse anything but text and path objects."""
    if not isinstance(value, (str, os.PathLike)):
        raise OptionError(f"{name} must be text or a path object, got {value!r}")


def check_time_limit(value: object) -> None:
    """Refuse anything but None and seconds above 0."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0):
        raise OptionError(f"time_limit must be a number of seconds above 0, or None, got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Refuse anything but true and false, and what equals them."""
    if getattr(value, "shape", ()) or value not in (True, False):
        raise OptionError(f"{name} must be true or false, got {value!r}")


def text_or_tokens(name: str, value: object) -> str | tuple[int, ...] | None:
    """Text as it is, or token ids as a tuple of the user's own no longer."""
    if value is None or isinstance(value, str):
        return value
    if not is_collection(value):
        raise OptionError(f"{name} must be text or token ids, got {value!r}")
    return tuple(_token_id(name, token, least=0) for token in value)


def _token_id(name: str, entry: Any, *, least: int) -> int:
    try:
        token = int(entry)
        is_whole = isinstance(entry, str) or token == entry
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole or token < least:
        raise OptionError(f"{name} must hold token ids of at least {least}, got {entry!r}")
    return token
