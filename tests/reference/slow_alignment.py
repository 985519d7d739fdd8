"""Slow, obvious twins of the searches for paths: every cell by itself, every sequence of rows tried."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import numpy as np


def slow_path(costs: np.ndarray) -> list[tuple[int, int]]:
    """The cheapest path from corner to corner, cell by cell; the left neighbour wins ties, then the one above."""
    rounded = np.rint(np.asarray(costs, np.float64) * 2**20)

    @cache
    def total(row: int, column: int) -> float:
        if row < 0 or column < 0:
            return np.inf
        if row == column == 0:
            return float(rounded[0, 0])
        return float(rounded[row, column]) + min(total(*cell) for cell in neighbours(row, column))

    def neighbours(row: int, column: int) -> list[tuple[int, int]]:
        return [(row, column - 1), (row - 1, column), (row - 1, column - 1)]

    cells = [(costs.shape[0] - 1, costs.shape[1] - 1)]
    while cells[-1] != (0, 0):
        cells.append(min(neighbours(*cells[-1]), key=lambda cell: total(*cell)))
    return cells[::-1]


def slow_best_score(scores: np.ndarray, is_skippable: list[bool], least: int) -> float | None:
    """The largest sum of scores over every way to give each step to a row, rows in order; None when there is none."""
    n_row, n_step = scores.shape
    best: float | None = None
    optional = [row for row in range(n_row) if is_skippable[row]]
    for n_skipped in range(len(optional) + 1):
        for skipped in combinations(optional, n_skipped):
            rows = [row for row in range(n_row) if row not in skipped]
            for cuts in combinations(range(1, n_step), len(rows) - 1):
                edges = [0, *cuts, n_step]
                lengths = [end - start for start, end in pairwise(edges)]
                if any(length < least and not is_skippable[row] for row, length in zip(rows, lengths, strict=True)):
                    continue
                score = sum(float(scores[row, edges[place] : edges[place + 1]].sum()) for place, row in enumerate(rows))
                best = score if best is None else max(best, score)
    return best
