"""Dynamic time warping: the same path as the slow twin, and a monotonic one for any costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sasayaki.alignment.dtw import find_path
from tests.reference.slow_alignment import slow_path

COSTS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.floats(-3, 3, width=16))


@given(COSTS)
def test_the_path_is_that_of_the_slow_twin(costs: np.ndarray) -> None:
    path = find_path(costs)
    assert list(zip(path.rows.tolist(), path.columns.tolist(), strict=True)) == slow_path(costs)


@given(COSTS)
def test_a_path_leads_from_corner_to_corner_and_never_back(costs: np.ndarray) -> None:
    path = find_path(costs)
    assert (path.rows[0], path.columns[0]) == (0, 0)
    assert (path.rows[-1], path.columns[-1]) == (costs.shape[0] - 1, costs.shape[1] - 1)
    steps = np.stack([np.diff(path.rows), np.diff(path.columns)])
    assert set(map(tuple, steps.T.tolist())) <= {(0, 1), (1, 0), (1, 1)}
    assert len(path.first_columns()) == costs.shape[0]


@pytest.mark.parametrize("planted", [[0, 5, 9, 20], [0, 0, 0, 0], [0, 1, 2, 29]])
def test_a_planted_path_is_found(planted: list[int]) -> None:
    costs = np.ones((4, 30))
    for row, (start, end) in enumerate(zip(planted, [*planted[1:], 29], strict=True)):
        costs[row, start : end + 1] = 0.0
    assert find_path(costs).first_columns().tolist() == planted


def test_long_paths_are_exact() -> None:
    """Sums of 448 x 1500 costs lose nothing: the sum along the path is the smallest there is."""
    costs = np.random.default_rng(0).normal(size=(40, 300))
    rounded = np.rint(costs * 2**20)
    totals = np.full(costs.shape, np.inf)
    for row in range(40):
        for column in range(300):
            before = [
                totals[r, c] for r, c in ((row, column - 1), (row - 1, column), (row - 1, column - 1)) if min(r, c) >= 0
            ]
            totals[row, column] = rounded[row, column] + (min(before) if before else 0)
    path = find_path(costs)
    assert rounded[path.rows, path.columns].sum() == totals[-1, -1]
