"""The likeliest way through the words of a window and the pauses between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_NEVER = -1e18


@dataclass(frozen=True, slots=True)
class Stretch:
    """The steps that one row takes, from `start` up to `end`; an empty one was skipped."""

    start: int
    end: int


def find_stretches(scores: Matrix, is_skippable: Sequence[bool], *, least: int) -> list[Stretch] | None:
    """Give every step to one row, rows in order, so that the sum of scores is the largest (Viterbi, 1967).

    A row is done at once: to end in step t having begun in step k it gains S[t] - S[k-1] with sums S of its scores,
    so the best begin is where the best way so far, less S[k-1], has its running maximum.

    Args:
        scores: (n_row, n_step) finite float.
        is_skippable: of each row, whether it may be left out; not all of them.
        least: fewest steps of a row that may not be left out; the others have at least one.

    Returns:
        The stretch of each row, or None when the steps are too few.
    """
    n_row, n_step = scores.shape
    if n_step < least * (n_row - sum(is_skippable)):
        return None
    sums = np.pad(np.cumsum(scores, axis=1), ((0, 0), (1, 0)))
    best = np.full((n_row, n_step), _NEVER)
    for row in range(n_row):
        shortest = 1 if is_skippable[row] else least
        gain = np.maximum.accumulate(_entries(best, row, is_skippable)[0] - sums[row, :-1])
        best[row, shortest - 1 :] = sums[row, shortest:] + gain[: n_step - shortest + 1]
    return _trace_back(best, sums, is_skippable, least)


def _entries(best: Matrix, row: int, is_skippable: Sequence[bool]) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """For each step: the most that can be had before `row` begins there, and the row that this ends with, or -1."""
    entry = np.full(best.shape[1], _NEVER)
    source = np.full(best.shape[1], -1)
    before = row - 1
    while before >= 0:
        is_better = best[before, :-1] > entry[1:]
        entry[1:][is_better] = best[before, :-1][is_better]
        source[1:][is_better] = before
        if not is_skippable[before]:
            return entry, source
        before -= 1
    entry[0] = 0.0
    return entry, source


def _trace_back(best: Matrix, sums: Matrix, is_skippable: Sequence[bool], least: int) -> list[Stretch]:
    n_row, n_step = best.shape
    last = n_row - 1
    while is_skippable[last]:
        last -= 1
    row = max(range(last, n_row), key=lambda each: float(best[each, -1]))
    stretches = [Stretch(0, 0)] * n_row
    end = n_step
    while row >= 0:
        entry, source = _entries(best, row, is_skippable)
        latest = end - (1 if is_skippable[row] else least)
        start = int(np.argmax((entry - sums[row, :-1])[: latest + 1]))
        stretches[row] = Stretch(start, end)
        row, end = int(source[start]), start
    return stretches
