"""Word error rates with openai/whisper's text normalisers (package openai-whisper)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.processes import answer_lines


@functools.cache
def normaliser(language: str) -> Callable[[str], str]:
    """What makes two spellings of a text comparable."""
    from whisper.normalizers import BasicTextNormalizer, EnglishTextNormalizer

    made: Callable[[str], str] = EnglishTextNormalizer() if language == "en" else BasicTextNormalizer()
    return made


def count_errors(reference: str, text: str, language: str) -> tuple[int, int]:
    """Fewest words to replace, insert and delete, and the number of words in the reference."""
    normalise = normaliser(language)
    expected, got = normalise(reference).split(), normalise(text).split()
    return edit_distance(expected, got), len(expected)


def edit_distance(expected: Sequence[str], got: Sequence[str]) -> int:
    """Levenshtein distance of two sequences."""
    for costs in _prefix_distances(expected, got):
        last = costs[-1]
    return int(last)


def align(expected: Sequence[str], got: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Places of words that stand for each other, equal or not, in an alignment with the fewest errors.

    Args:
        expected: what was said.
        got: what was heard.

    Returns:
        Pairs of places in order; None stands for a word that is missing in the other sequence.
    """
    rows = list(_prefix_distances(expected, got))
    row, column = len(expected), len(got)
    pairs: list[tuple[int | None, int | None]] = []
    while row or column:
        cost = rows[row][column]
        is_pair = bool(row and column) and cost == rows[row - 1][column - 1] + (expected[row - 1] != got[column - 1])
        is_missing = not is_pair and bool(row) and cost == rows[row - 1][column] + 1
        row -= is_pair or is_missing
        column -= not is_missing
        pairs.append((None if not is_pair and not is_missing else row, None if is_missing else column))
    return pairs[::-1]


def _prefix_distances(expected: Sequence[str], got: Sequence[str]) -> Iterator[npt.NDArray[np.int64]]:
    """Distances of the first 0, 1, … expected words from all beginnings of `got`: each (len(got) + 1,)."""
    ids = {word: number for number, word in enumerate({*expected, *got})}
    columns = np.array([ids[word] for word in got], np.int64)
    places = np.arange(len(got) + 1)
    costs = places.copy()
    yield costs
    for word in expected:
        kept = costs + 1
        kept[1:] = np.minimum(kept[1:], costs[:-1] + (columns != ids[word]))
        costs = np.minimum.accumulate(kept - places) + places
        yield costs


def begin() -> tuple[dict[str, Any], Callable[..., dict[str, int]]]:
    """What a process that counts errors answers with."""
    normaliser("en")

    def answer(reference: str, text: str, language: str) -> dict[str, int]:
        errors, words = count_errors(reference, text, language)
        return {"errors": errors, "words": words}

    return {}, answer


if __name__ == "__main__":
    answer_lines(begin)
