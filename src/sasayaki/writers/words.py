"""The words of a segment with times in whole milliseconds; estimated where the segment has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sasayaki.results import Segment, Word
from sasayaki.writers.times import to_milliseconds
from sasayaki.writers.width import JOINER, columns, is_wide

_SPACES = re.compile(r"[\s\x1c-\x1f\x85]+")


@dataclass(frozen=True, slots=True)
class TimedWord:
    """A word as captions show it.

    Attributes:
        text: not empty; a space, or a line break, stands before it where one belongs; no other white space but
            single spaces.
        start_ms: start in milliseconds.
        end_ms: end in milliseconds, not before the start.
        probability: that of `Word`; None where the times are estimated.
    """

    text: str
    start_ms: int
    end_ms: int
    probability: float | None = None

    def with_text(self, text: str) -> TimedWord:
        """The same word, written otherwise."""
        return replace(self, text=text)


def timed_words(segment: Segment) -> list[TimedWord]:
    """Words in order, none before the one before it ends.

    A segment without words gives its text, its time shared out by the widths of the words.
    """
    words = _given(segment.words) if segment.words else _estimated(segment)
    ordered: list[TimedWord] = []
    last_ms = 0
    for word in words:
        start_ms = max(word.start_ms, last_ms)
        last_ms = max(word.end_ms, start_ms)
        ordered.append(replace(word, start_ms=start_ms, end_ms=last_ms))
    return ordered


def clean(text: str) -> str:
    """The text with every run of white space as one space, and without null characters."""
    return _SPACES.sub(" ", text.replace("\0", "\ufffd"))


def _given(words: Iterable[Word]) -> Iterator[TimedWord]:
    space = ""
    for word in words:
        text = space + clean(word.word)
        space = " " if text.endswith(" ") else ""
        text = re.sub("^ +", " ", text.rstrip(" "))
        if text:
            start_ms, end_ms = to_milliseconds(word.start), to_milliseconds(word.end)
            yield TimedWord(text, start_ms, end_ms, word.probability)


def _estimated(segment: Segment) -> Iterator[TimedWord]:
    pieces = list(_pieces(clean(segment.text)))
    start_ms, end_ms = to_milliseconds(segment.start), to_milliseconds(segment.end)
    total = sum(map(columns, pieces)) or 1
    done = 0
    for piece in pieces:
        word_start = start_ms + (end_ms - start_ms) * done // total
        done += columns(piece)
        yield TimedWord(piece, word_start, start_ms + (end_ms - start_ms) * done // total)


def _pieces(text: str) -> Iterator[str]:
    """Words with their leading spaces; wide characters, as of Chinese, are words of their own."""
    for match in re.finditer(r" ?\S+", text):
        piece = ""
        for character in match[0]:
            is_open = piece.strip() and not piece.endswith(JOINER) and columns(character)
            if is_open and (is_wide(character) or is_wide(piece[-1])):
                yield piece
                piece = ""
            piece += character
        yield piece
