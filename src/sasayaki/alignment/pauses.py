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
    entry, sums, best = np.full(n_step + 1, _NEVER), np.zeros(n_step + 1), np.empty(n_step)
    before, after, later = sums[:-1], sums[1:], entry[1:]
    entry[0] = 0.0
    gains, is_last = np.empty((n_row, n_step)), np.ones((n_row, n_step), np.bool_)
    for row, gain in enumerate(gains):
        np.cumsum(scores[row], out=after)
        np.subtract(entry[:-1], before, out=gain)
        np.maximum.accumulate(gain, out=gain)
        if is_skippable[row]:
            np.add(after, gain, out=best)
            np.greater_equal(best, later, out=is_last[row])
            np.maximum(later, best, out=later)
        else:
            entry[:least] = _NEVER
            np.add(sums[least:], gain[: n_step - least + 1], out=entry[least:])
    return _trace_back(gains, is_last, [1 if each else least for each in is_skippable])


def _trace_back(gains: Matrix, is_last: npt.NDArray[np.bool_], shortest: Sequence[int]) -> list[Stretch]:
    """The stretches of the best way, from the last one on.

    Args:
        gains: the most that can be had before a row that begins in a step or earlier, less the sum of its scores before
            it begins, (n_row, n_step); never falls.
        is_last: whether the best way to a step, through rows up to this one, ends with this one, (n_row, n_step).
        shortest: fewest steps of each row on a way.
    """
    n_row, end = gains.shape
    row, stretches = n_row - 1, [Stretch(0, 0)] * n_row
    while end:
        while not is_last[row, end - 1]:
            row -= 1
        start = int(np.searchsorted(gains[row], gains[row, end - shortest[row]]))
        stretches[row] = Stretch(start, end)
        row, end = row - 1, start
    return stretches
