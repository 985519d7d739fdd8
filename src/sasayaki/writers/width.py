"""How much room text takes: columns of a terminal or a caption, two for a full-width character.

Full-width and wide characters are those of Unicode Standard Annex #11 (East Asian Width); marks that combine with the
character before them and control characters take no room.
"""

from __future__ import annotations

import unicodedata
from functools import cache


def columns(text: str) -> int:
    """Columns that the text takes on one line."""
    return sum(map(_columns_of, text))


def is_wide(character: str) -> bool:
    """Whether a character takes two columns."""
    return _columns_of(character) == 2


@cache
def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
