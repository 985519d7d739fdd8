"""Repetitions: a text that repeats itself may be a loop, or what somebody says again and again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from sasayaki.vad.regions import Region

MOST_UNLIKE = 1.35
"""Stretches of speech are alike when none is longer or shorter than their median by more than this factor."""

MOST_TURNS = 1.5
"""A text may have so many turns for each stretch of speech: *Do, do* for *two* said once."""

MIN_TURNS = 3
"""What is said less often is no repetition."""

MOST = 0.75
"""A repetition is at least this share of the words, and of the stretches of speech: little else is said beside it."""


LOOP_TURNS = 4
"""What is said as often on end may be a loop."""

PHRASE_WORDS = 3
"""Fewer words are said often without being a loop: *of the*."""

PHRASE_TURNS = 3
"""A phrase of so many words that is said as often on end may be a loop."""

_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff"
"""Of Chinese and Japanese, which have no spaces."""

_UNIT = rf"\d+(?:[.,]\d+)*|[{_CHARACTERS}]|[^\W\d{_CHARACTERS}]+"
"""A number, a character, or a word: *1,000,000,000,000* says nothing four times."""


def is_repetition(text: str, spoken: Sequence[Region]) -> bool:
    """Whether a text that repeats itself says what is said: stretches of speech of one length, as many as its turns.

    A loop has more turns than there are voices, or goes over speech that does not repeat itself.
    """
    return MIN_TURNS <= n_turns(text) <= MOST_TURNS * n_alike(spoken)


def n_alike(spoken: Sequence[Region]) -> int:
    """How many stretches of speech have about the same length; 0 where they are few or not most of all."""
    if len(spoken) < MIN_TURNS:
        return 0
    lengths = np.array([region.end - region.start for region in spoken])
    unlike = lengths / np.median(lengths)
    found = int(np.count_nonzero((unlike <= MOST_UNLIKE) & (unlike >= 1 / MOST_UNLIKE)))
    return found if found >= MOST * len(spoken) else 0


def n_turns(text: str) -> int:
    """How often on end a text says the same words; 0 when it says more than that.

    Case and punctuation do not count. Where there are hardly any words its letters are compared, for figures and some
    languages have no spaces.
    """
    words = _words(text)
    units = words if len(words) >= MIN_TURNS else [*"".join(words)]
    longest, turns = 0, 0
    for period in range(1, len(units) // 2 + 1):
        matched = 0
        for place in range(period, len(units)):
            matched = matched + 1 if units[place] == units[place - period] else 0
            if matched >= period and matched + period > longest:
                longest, turns = matched + period, (matched + period) // period
    return turns if longest >= MOST * len(units) else 0


@dataclass(frozen=True, slots=True)
class Run:
    """A phrase that is said again and again.

    Attributes:
        places: of the texts in which it is.
        share: of the words of these texts, from its first turn to its last.
        n_turns: how often it is said; of several phrases, the most.
    """

    places: range
    share: float
    n_turns: int


def find_runs(texts: Sequence[str]) -> tuple[Run, ...]:
    """Phrases that are said again and again in texts that follow each other, in their order.

    That is `LOOP_TURNS` times or more on end. For a phrase of `PHRASE_WORDS` words or more `PHRASE_TURNS` times are
    enough, or `LOOP_TURNS` times when it makes up half of what is said from its first turn to its last. A text at
    either end that says other things, and less than a turn, is not one of its texts.
    """
    said = [(word, place) for place, text in enumerate(texts) for word in re.findall(_UNIT, text.casefold())]
    words, places = [word for word, _ in said], [place for _, place in said]
    found: list[range] = []
    again: list[list[int]] = []
    for size in range(1, len(words) // PHRASE_TURNS + 1):
        strict, loose = (LOOP_TURNS, LOOP_TURNS * size), (LOOP_TURNS, 2 * LOOP_TURNS * size)
        limits = (strict,) if size < PHRASE_WORDS else ((PHRASE_TURNS, PHRASE_TURNS * size), loose)
        starts: dict[tuple[str, ...], list[int]] = {}
        for start in range(len(words) - size + 1):
            turns = starts.setdefault(tuple(words[start : start + size]), [])
            if turns and start < turns[-1] + size:
                continue
            turns.append(start)
            for n_turns, longest in limits:
                if len(turns) >= n_turns and start + size - turns[-n_turns] <= longest:
                    found.append(_whole(range(turns[-n_turns], start + size), size, places))
                    again.append(turns)
    runs = []
    for span in _joined(found):
        among = range(places[span.start], places[span.stop - 1] + 1)
        n_turns = max(sum(start in span for start in turns) for turns in again)
        runs.append(Run(among, len(span) / sum(place in among for place in places), n_turns))
    return tuple(runs)


def _whole(span: range, size: int, places: Sequence[int]) -> range:
    """A run of phrases of a size without the texts at its ends that have little of it."""
    first, last = places[span.start], places[span.stop - 1]
    n_first, n_last = (sum(places[word] == text for word in span) for text in (first, last))
    start = span.start + n_first if n_first < min(size, places.count(first) / 2) else span.start
    stop = span.stop - n_last if n_last < min(size, places.count(last) / 2) else span.stop
    return range(start, stop)


def _joined(spans: Sequence[range]) -> list[range]:
    """Ranges of which those that overlap are one."""
    joined: list[range] = []
    for span in sorted(spans, key=attrgetter("start")):
        if joined and span.start < joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, span.stop))
        else:
            joined.append(span)
    return joined


def words_of(text: str) -> frozenset[str]:
    """The words of a text, without case and punctuation."""
    return frozenset(_words(text))


def first_word(text: str) -> str:
    """The first word, number or character of a text, in lower case; empty when it has none."""
    found = re.search(_UNIT, text.casefold())
    return found[0] if found else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
