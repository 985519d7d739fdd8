"""Word alternatives: several readings of a speech aligned into one row of slots, a confusion network.

Readings are added one by one as in ROVER (Fiscus 1997, https://doi.org/10.1109/ASRU.1997.659110), best first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from sasayaki.results import Alternative, Hypothesis, Slot


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of one hypothesis and its share of the probability."""

    words: tuple[str, ...]
    weight: float


def align_readings(readings: Sequence[Reading]) -> tuple[Slot, ...]:
    """Align readings by their words; the first is the one whose words the slots are named after.

    Words are aligned without regard to case and punctuation, but are alternatives as they are written.

    Args:
        readings: at least one, best first; weights at least 0, in any scale, not all 0.

    Returns:
        The slots in order. Their texts, empty ones left out, are the words of the first reading; every slot's
        probabilities sum to 1.
    """
    slots: list[_Slot] = [_Slot(text=word.strip()) for word in readings[0].words]
    total = 0.0
    for reading in readings:
        slots = _add(slots, [word.strip() for word in reading.words], reading.weight, total)
        total += reading.weight
    return tuple(slot.freeze(total) for slot in slots)


def alternatives(hypotheses: Sequence[Hypothesis]) -> tuple[Slot, ...]:
    """The words of the best hypothesis and what the others have in their places; best first, at least one.

    A hypothesis weighs as much as its probability; one that was sampled twice counts once.
    """
    distinct = list({hypothesis.tokens: hypothesis for hypothesis in reversed(hypotheses)}.values())[::-1]
    peak = max(hypothesis.sum_logprob for hypothesis in distinct)
    return align_readings(
        [
            Reading(tuple(word.text for word in hypothesis.words), math.exp(hypothesis.sum_logprob - peak))
            for hypothesis in distinct
        ]
    )


@dataclass(slots=True)
class _Slot:
    """A slot in the making: the weight of each reading, "" for none, and the words without case and punctuation."""

    text: str = ""
    weights: dict[str, float] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.add(self.text, 0.0)

    def add(self, word: str, weight: float) -> None:
        self.weights[word] = self.weights.get(word, 0.0) + weight
        self.keys.add(_key(word))

    def freeze(self, total: float) -> Slot:
        ordered = sorted(self.weights.items(), key=lambda item: item[1], reverse=True)
        shares = tuple(Alternative(text=word, probability=weight / total) for word, weight in ordered)
        return Slot(text=self.text, alternatives=shares)


def _add(slots: list[_Slot], words: list[str], weight: float, n_before: float) -> list[_Slot]:
    """The slots with one reading more; a word without a slot gets a new one, empty in all readings before."""
    grown: list[_Slot] = []
    keys = [_key(word) for word in words]
    for place, word in _alignment([slot.keys for slot in slots], keys):
        slot = _Slot(weights={"": n_before}) if place is None else slots[place]
        slot.add("" if word is None else words[word], weight)
        grown.append(slot)
    return grown


Pair = tuple[int | None, int | None]
"""A slot and a word; None where the other has no partner."""


def _alignment(slots: Sequence[set[str]], words: Sequence[str]) -> list[Pair]:
    """The cheapest alignment in order: a slot without word and a word without slot cost 1, a mismatch up to 1.

    What is equal at both ends is taken off first; hypotheses of a beam mostly differ in one place.
    """
    n_head = _n_equal(zip(slots, words, strict=False))
    slots_left, words_left = slots[n_head:], words[n_head:]
    n_tail = _n_equal(zip(reversed(slots_left), reversed(words_left), strict=False))
    middle = _edit_path(slots_left[: len(slots_left) - n_tail], words_left[: len(words_left) - n_tail])
    head: list[Pair] = [(place, place) for place in range(n_head)]
    shifted: list[Pair] = [
        (None if slot is None else slot + n_head, None if word is None else word + n_head) for slot, word in middle
    ]
    tail: list[Pair] = [(len(slots) - back, len(words) - back) for back in range(n_tail, 0, -1)]
    return head + shifted + tail


def _n_equal(pairs: Iterable[tuple[set[str], str]]) -> int:
    count = 0
    for slot, word in pairs:
        if word not in slot:
            break
        count += 1
    return count


def _edit_path(slots: Sequence[set[str]], words: Sequence[str]) -> list[Pair]:
    """The path of the smallest Levenshtein distance; a slot that may be empty is left empty for free."""
    skip = [0.0 if "" in slot else 1.0 for slot in slots]
    mismatch = [[_mismatch(slot, word) for word in words] for slot in slots]
    costs = [[float(column) for column in range(len(words) + 1)]]
    for row in range(len(slots)):
        line = [costs[row][0] + skip[row]]
        for column in range(len(words)):
            match = costs[row][column] + mismatch[row][column]
            line.append(min(match, costs[row][column + 1] + skip[row], line[column] + 1.0))
        costs.append(line)
    path: list[Pair] = []
    row, column = len(slots), len(words)
    while row or column:
        here = costs[row][column]
        if row and column and here == costs[row - 1][column - 1] + mismatch[row - 1][column - 1]:
            row, column = row - 1, column - 1
            path.append((row, column))
        elif row and here == costs[row - 1][column] + skip[row - 1]:
            row -= 1
            path.append((row, None))
        else:
            column -= 1
            path.append((None, column))
    return path[::-1]


def _mismatch(slot: set[str], word: str) -> float:
    """0 for a word of the slot, else between 1/2 and 1: the less, the more pairs of letters are shared (Dice)."""
    if word in slot:
        return 0.0
    own = _letter_pairs(word)
    return 1.0 - max(len(own & other) / (len(own) + len(other)) for other in map(_letter_pairs, slot))


@lru_cache(maxsize=4096)
def _letter_pairs(word: str) -> frozenset[str]:
    framed = f"^{word}$"
    return frozenset(first + second for first, second in pairwise(framed))


def _key(word: str) -> str:
    """The word as it is compared: letters and digits in one case; punctuation alone stays as it is."""
    return "".join(character for character in word.casefold() if character.isalnum()) or word
