"""How much room text takes: columns of a terminal or a caption, two for a full-width character.

Full-width and wide characters are those of Unicode Standard Annex #11 (East Asian Width); marks that combine with the
character before them and control characters take no room; pictures that a zero-width joiner makes one (a family), and
skin tones (Unicode Technical Standard #51), take that of the first.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

JOINER = "\u200d"
_JOINED = re.compile(f"{JOINER}[\u2300-\u2bff\U0001f000-\U0001faff]")
_SKIN_TONES = frozenset("\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


def columns(text: str) -> int:
    """Columns that the text takes on one line."""
    return sum(map(_columns_of, _JOINED.sub("", text) if JOINER in text else text))


def is_wide(character: str) -> bool:
    """Whether a character takes two columns."""
    return _columns_of(character) == 2


@cache
def _columns_of(character: str) -> int:
    if (
        character in _SKIN_TONES
        or unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc")
        or "\u1160" <= character <= "\u11ff"
    ):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
