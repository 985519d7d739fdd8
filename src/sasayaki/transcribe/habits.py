"""Segments that begin with the same word again and again because the text before them does: a habit of the model."""

from __future__ import annotations

from collections.abc import Sequence

from sasayaki.transcribe.repetition import first_word

ON_END = 4
"""So many segments on end that begin with the same word may do so by habit."""

NUMBERED = 3
"""So many that begin with the same number may, with others between, too: *0. Front, center. 0. That agent is …*"""


def find_habit(said: Sequence[str], texts: Sequence[str]) -> str:
    """The word that texts of a window begin with as if by habit; empty for none.

    Args:
        said: texts of the segments before.
        texts: of the window's segments.
    """
    words = [first_word(text) for text in (*said, *texts)]
    for word in dict.fromkeys(filter(None, words[len(said) :])):
        if word.isdecimal() and words.count(word) >= NUMBERED:
            return word
        starts = [start for start in range(len(words)) if words[start : start + ON_END] == [word] * ON_END]
        if starts and starts[-1] + ON_END > len(said):
            return word
    return ""


def n_beginning_with(word: str, texts: Sequence[str]) -> int:
    """How many texts begin with a word."""
    return sum(first_word(text) == word for text in texts)
