"""Times as readers of captions expect them: whole milliseconds, rounded once."""

from __future__ import annotations

import math

from sasayaki.errors import OutputError


def to_milliseconds(seconds: float) -> int:
    """The nearest whole millisecond; what lies before the start counts as the start.

    Raises:
        OutputError: when `seconds` is not finite.
    """
    if not math.isfinite(seconds * 1000):
        raise OutputError(f"a time must be a finite number of seconds, got {seconds}")
    return max(0, round(seconds * 1000))


def format_milliseconds(milliseconds: int, *, always_hours: bool, decimal_mark: str) -> str:
    """`HH:MM:SS.mmm`; without `always_hours` the hours appear only from the first hour on.

    Hours have at least two digits and may pass 99.
    """
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    head = f"{hours:02d}:" if always_hours or hours else ""
    return f"{head}{minutes:02d}:{seconds:02d}{decimal_mark}{milliseconds:03d}"


def format_timestamp(seconds: float, *, always_hours: bool = False, decimal_mark: str = ".") -> str:
    """A time in seconds as `MM:SS.mmm`, with hours when there are some or when they are asked for.

    Raises:
        OutputError: when `seconds` is not finite.
    """
    return format_milliseconds(to_milliseconds(seconds), always_hours=always_hours, decimal_mark=decimal_mark)
