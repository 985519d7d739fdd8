r"""Regular expressions over text, with two scripts more than Unicode has: Simplified and Traditional Chinese.

The syntax is that of the package `regex`, version 1: Unicode properties such as `\p{Han}` and `\p{Nd}`, and set
operations such as `[\p{L}--\p{Latin}]`. Unicode puts all Chinese characters in one script, so `\p{Hans}` and
`\p{Hant}`, by their codes of ISO 15924, come from a table.
"""

from __future__ import annotations

import gzip
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
import regex

from sasayaki.errors import OptionError

FIRST_HANZI = 0x3000
"""The code point of the table's first bit."""

_SCRIPT = regex.compile(r"\\(?:([pP])\{(Hans|Hant)\}|.)", regex.DOTALL)


@lru_cache(maxsize=32)
def compile_pattern(name: str, pattern: str) -> regex.Pattern[str]:
    """A compiled pattern.

    Args:
        name: the option that it came from.
        pattern: a regular expression.

    Raises:
        OptionError: it is not one; the message says where.
    """
    try:
        return regex.compile(_SCRIPT.sub(_expand, pattern), regex.VERSION1)
    except (regex.error, OverflowError, RecursionError) as error:
        raise OptionError(f"{name}={pattern!r} is not a regular expression: {error}") from None


def _expand(match: regex.Match[str]) -> str:
    """The set of a script's characters; any other escape as it is."""
    if match[2] is None:
        return str(match[0])
    return ("[" if match[1] == "p" else "[^") + _ranges(match[2]) + "]"


@cache
def _ranges(script: str) -> str:
    """The characters of `Hans` or `Hant` as ranges of a set."""
    packed = gzip.decompress(files("sasayaki.text").joinpath("assets", "hanzi.gz").read_bytes())
    both = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little").reshape(2, -1)
    member = np.pad(both[("Hans", "Hant").index(script)], 1).astype(np.int8)
    borders = (np.flatnonzero(np.diff(member)) + FIRST_HANZI).tolist()
    return "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in list(pairwise(borders))[::2])
