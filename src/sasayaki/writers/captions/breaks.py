"""How good a place to break is, and which places are inside a name or a number."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sasayaki.writers.captions.atoms import Atom
from sasayaki.writers.captions.grammar import SmallWords, to_set

SENTENCE_ENDS = ".?!…。？！؟۔।॥"
_CLAUSE_ENDS = ",;:–—、，；：،؛"
_CLOSERS = "\"'”’»›)]）］」』】"
_OPENERS = "\"'“‘«‹([（［「『【¿¡"

_PAUSE_MS = 300
"""A pause as good as a comma."""

_CLAUSE, _BEFORE_OPENER, _ANYWHERE, _BINDS = 150, 300, 600, 1100
_HIRAGANA = re.compile("[\u3041-\u309f]")
_PARTICLES = frozenset("はがをにでともへのてば")

_TITLES = to_set("dr. mr. mrs. ms. prof. st. sr. jr. hr. fr. mme. mlle. sra. dra. gen. sen. rep. gov. capt.")
_BEFORE_NUMBER = to_set("no. nr. № # $ € £ ¥ page chapter section seite kapitel página")
_UNITS = to_set(
    "% ° °c °f kg g mg km m cm mm l ml s ms h min mph km/h hz khz mhz ghz kb mb gb tb kw mw am pm a.m. p.m. a.m p.m "
    "o'clock percent uhr euro euros dollar dollars pounds cents meter meters metres miles feet years"
)
_YEAR = re.compile("(?:1[5-9]|20)[0-9]{2}")
_DAY = re.compile("[0-3]?[0-9],")
_MAX_NAME = 4
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30ff]")


@dataclass(frozen=True, slots=True)
class Boundary:
    """The place between two atoms.

    Attributes:
        is_bond: whether it lies inside a name or a number.
        cost: how bad it is to break there; 0 behind a sentence.
        ends_sentence: whether a sentence ends there.
        pause_ms: silence there.
        bonds: bonds in a row up to here.
    """

    is_bond: bool
    cost: int
    ends_sentence: bool
    pause_ms: int
    bonds: int


def boundary(left: Atom, right: Atom, small: SmallWords, bonds_before: int) -> Boundary:
    """The place between two atoms that follow each other.

    Args:
        left: what stands before it.
        right: what stands behind it.
        small: small words of the language.
        bonds_before: bonds in a row up to `left`.
    """
    pause_ms = max(0, right.start_ms - left.end_ms)
    is_bond = bonds_before < _MAX_NAME - 1 and (_is_number(left, right, small) or _is_name(left, right, small))
    tail = left.text.rstrip(_CLOSERS)
    ends_sentence = tail.endswith(tuple(SENTENCE_ENDS)) and not is_bond
    cost = 0 if ends_sentence else max(0, _cost(left, right, small) - pause_ms)
    return Boundary(is_bond, cost, ends_sentence, pause_ms, bonds_before + 1 if is_bond else 0)


def _cost(left: Atom, right: Atom, small: SmallWords) -> int:
    if left.text.rstrip(_CLOSERS).endswith(tuple(_CLAUSE_ENDS)):
        return _CLAUSE
    if not right.is_spaced:
        return _unspaced_cost(left.text[-1], right.text[0])
    if _bare(left) in small.openers or _bare(left) in small.binders:
        return _BINDS
    return _BEFORE_OPENER if _bare(right) in small.openers else _ANYWHERE


def _unspaced_cost(left: str, right: str) -> int:
    """Japanese phrases end in particles, at least in hiragana, and mostly begin otherwise."""
    if not _HIRAGANA.match(left) or _HIRAGANA.match(right):
        return _BINDS
    return _BEFORE_OPENER if left in _PARTICLES else _ANYWHERE


def _bare(atom: Atom) -> str:
    """The word in lower case, without quotes and brackets around it."""
    return atom.text.lstrip(_OPENERS).rstrip(_CLOSERS).lower()


def _is_number(left: Atom, right: Atom, small: SmallWords) -> bool:
    before, after = _bare(left), _bare(right).rstrip(SENTENCE_ENDS + _CLAUSE_ENDS)
    if not before or not after:
        return False
    if _DAY.fullmatch(before) and _YEAR.fullmatch(after):
        return True
    if before[-1].isdigit():
        is_counted = after in _UNITS or after in small.numbers or after in small.months
        return after[0].isdigit() or after[0] in "%°" or is_counted or not right.is_spaced
    if after[0].isdigit() and (before in _BEFORE_NUMBER or before in small.months):
        return True
    if not right.is_spaced and before[-1].isnumeric() and after[0].isnumeric():
        return True
    return before in small.numbers and after in small.numbers


def _is_name(left: Atom, right: Atom, small: SmallWords) -> bool:
    if not right.is_spaced:
        return bool(_KATAKANA.match(left.text[-1]) and _KATAKANA.match(right.text[0]))
    before, after = left.text.lstrip(_OPENERS), right.text.rstrip(_CLOSERS + SENTENCE_ENDS + _CLAUSE_ENDS)
    if not after or not after[0].isupper():
        return False
    if before.lower() in _TITLES:
        return True
    if after.lower() in small.all:
        return False
    is_initial = len(before) == 2 and before[0].isupper() and before[1] == "."
    if not (is_initial or before[-1:].isalnum()) or before.lower() in small.all:
        return False
    is_shouted = before.isupper() and after.isupper() and not is_initial
    return before[:1].isupper() and not is_shouted
