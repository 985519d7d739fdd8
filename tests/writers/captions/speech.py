"""Speech for caption tests: words with times from a line of text."""

from __future__ import annotations

from sasayaki.results import Segment, Word
from tests.writers.transcriptions import make_segment


def speak(text: str, *, start: float = 0.0, speed: float = 12.0, language: str = "en") -> Segment:
    """A segment of one word after the other, `speed` characters a second; `|` is a second of silence."""
    words: list[Word] = []
    time = start
    for piece in text.split():
        if piece == "|":
            time += 1.0
            continue
        end = time + (len(piece) + 1) / speed
        words.append(Word(word=f" {piece}", start=time, end=end, probability=0.9))
        time = end
    return make_segment(
        words[0].start, words[-1].end, "".join(word.word for word in words), words=tuple(words), language=language
    )
