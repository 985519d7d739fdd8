"""Word error rates with openai/whisper's text normalisers (package openai-whisper)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    ids = {word: number for number, word in enumerate({*expected, *got})}
    columns = np.array([ids[word] for word in got], np.int64)
    places = np.arange(len(got) + 1)
    costs = places.copy()
    for word in expected:
        kept = costs + 1
        kept[1:] = np.minimum(kept[1:], costs[:-1] + (columns != ids[word]))
        costs = np.minimum.accumulate(kept - places) + places
    return int(costs[-1])


def begin() -> tuple[dict[str, Any], Callable[..., dict[str, int]]]:
    """What a process that counts errors answers with."""
    normaliser("en")

    def answer(reference: str, text: str, language: str) -> dict[str, int]:
        errors, words = count_errors(reference, text, language)
        return {"errors": errors, "words": words}

    return {}, answer


if __name__ == "__main__":
    answer_lines(begin)
