"""Dynamic time warping: the cheapest monotonic path through a matrix of costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_UNITS_PER_COST = 2.0**20
"""Costs are rounded to multiples of 1/2^20, so that sums of them are exact in whatever order they are made."""


@dataclass(frozen=True, slots=True)
class Path:
    """Cells of a path from the first one of a matrix to the last one, in order.

    Attributes:
        rows: row of each cell, (n_cell,) int64.
        columns: column of each cell, (n_cell,) int64.
    """

    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]

    def first_columns(self) -> npt.NDArray[np.int64]:
        """The column in which the path enters each row, (n_row,) int64."""
        return self.columns[np.flatnonzero(np.diff(self.rows, prepend=-1))]


def find_path(costs: npt.ArrayLike) -> Path:
    """The path of the least sum of costs that goes down, right, or down and right by one cell at each step.

    Of equally cheap ways the one that comes from the left is taken, then that from above. A row is done at once: with
    sums S of its costs, the cheapest way to cell j enters the row in some cell k <= j and costs
    S[j] + (entry[k] - S[k-1]), of which the second term is a running minimum.

    Args:
        costs: (n_row, n_column) finite float, neither of them 0, of size below 2^20.

    Returns:
        A path with at least max(n_row, n_column) cells.
    """
    rounded = np.rint(np.asarray(costs, np.float64) * _UNITS_PER_COST)
    n_row, n_column = rounded.shape
    totals = np.empty((n_row, n_column))
    sums = np.cumsum(rounded, axis=1)
    totals[0] = sums[0]
    for row in range(1, n_row):
        above = totals[row - 1]
        entry = above.copy()
        np.minimum(above[1:], above[:-1], out=entry[1:])
        entry[1:] -= sums[row, :-1]
        totals[row] = sums[row] + np.minimum.accumulate(entry)
    return _trace_back(totals)


def _trace_back(totals: npt.NDArray[np.float64]) -> Path:
    """The path that the sums along the cheapest ways to each cell are those of."""
    row, column = totals.shape[0] - 1, totals.shape[1] - 1
    cells = [(row, column)]
    while row or column:
        left = totals[row, column - 1] if column else np.inf
        above = totals[row - 1, column] if row else np.inf
        corner = totals[row - 1, column - 1] if row and column else np.inf
        if left <= min(above, corner):
            column -= 1
        elif above <= corner:
            row -= 1
        else:
            row, column = row - 1, column - 1
        cells.append((row, column))
    rows, columns = np.array(cells[::-1], np.int64).T
    return Path(rows, columns)
