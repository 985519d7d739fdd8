"""Words as atoms: the pieces that a caption is never broken inside, each with what breaking behind it would cost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sasayaki.writers.width import JOINER, columns, is_wide
from sasayaki.writers.words import TimedWord

# Not at the start of a line, and not at its end: JIS X 4051 and Unicode Standard Annex #14 have the full rules.
_NO_START = frozenset(
    "、。，．・：；？！）］｝」』】〉》〕’”…‥ー々ゝゞヽヾぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ〜～,.!?:;%)]}»›"
    "ะาำๅๆฯ"
)
_NO_END = frozenset("（［｛「『【〈《〔‘“([{«‹$¥£€#เแโใไ")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff]")


@dataclass(frozen=True, slots=True)
class Atom:
    """Words without a place to break between them.

    Attributes:
        words: at least one, without white space.
        is_spaced: whether a space stands before it when it is not at the start of a line.
        text: the words joined.
        width: columns of the text.
    """

    words: tuple[TimedWord, ...]
    is_spaced: bool
    text: str
    width: int

    @property
    def start_ms(self) -> int:
        """Start of its first word."""
        return self.words[0].start_ms

    @property
    def end_ms(self) -> int:
        """End of its last word."""
        return self.words[-1].end_ms


def to_atoms(words: Iterable[TimedWord], last_character: str = "") -> list[Atom]:
    """Atoms of a segment's words.

    Args:
        words: in order; spaces in them separate atoms.
        last_character: of the segment before; a segment never continues its last atom.
    """
    atoms: list[Atom] = []
    group: list[TimedWord] = []
    is_spaced = False
    for word in _split(words):
        text = word.text.lstrip(" ")
        before = group[-1].text[-1] if group else last_character
        has_space = text != word.text
        if not group or has_space or _is_open(before, text[0]):
            if group:
                atoms.append(_join(group, is_spaced))
            is_spaced = has_space or not (group or _is_unspaced(before) or _is_unspaced(text[0]))
            group = []
        group.append(word.with_text(text))
    return [*atoms, _join(group, is_spaced)] if group else atoms


def _join(words: list[TimedWord], is_spaced: bool) -> Atom:
    text = "".join(word.text for word in words)
    return Atom(tuple(words), is_spaced, text, columns(text))


def _split(words: Iterable[TimedWord]) -> Iterator[TimedWord]:
    """Words without spaces inside; their time is shared out by width."""
    for word in words:
        parts = re.findall(" ?[^ ]+", word.text)
        total = sum(map(columns, parts)) or 1
        lasts_ms, done = word.end_ms - word.start_ms, 0
        for part in parts:
            start_ms = word.start_ms + lasts_ms * done // total
            done += columns(part)
            yield TimedWord(part, start_ms, word.start_ms + lasts_ms * done // total, word.probability)


def _is_open(left: str, right: str) -> bool:
    """Whether a line may be broken between two characters that no space separates."""
    if left in _NO_END or right in _NO_START or left == JOINER or not columns(right):
        return False
    if unicodedata.category(right) == "Mc":
        return False
    return _is_unspaced(left) or _is_unspaced(right)


def _is_unspaced(character: str) -> bool:
    """Whether it belongs to a script that is written without spaces between words."""
    if not character or _HANGUL.match(character):
        return False
    return is_wide(character) or _UNSPACED.match(character) is not None
