"""The way through words and pauses: the best of all ways, in order, with every step given once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sasayaki.alignment.pauses import find_stretches
from tests.reference.slow_alignment import slow_best_score


@st.composite
def matrices(draw: st.DrawFn) -> tuple[np.ndarray, list[bool], int]:
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 7)))
    scores = draw(arrays(np.float64, shape, elements=st.floats(-3, 3, width=16)))
    is_skippable = draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0]))
    is_skippable[draw(st.integers(0, shape[0] - 1))] = False
    return scores, is_skippable, draw(st.integers(1, 3))


@given(matrices())
def test_the_way_is_the_best_of_all(matrix: tuple[np.ndarray, list[bool], int]) -> None:
    scores, is_skippable, least = matrix
    found = find_stretches(scores, is_skippable, least=least)
    best = slow_best_score(scores, is_skippable, least)
    if best is None:
        assert found is None
        return
    assert found is not None
    taken = [(row, each) for row, each in enumerate(found) if each.end > each.start]
    assert [each.start for _, each in taken] == [0, *(each.end for _, each in taken[:-1])]
    assert taken[-1][1].end == scores.shape[1]
    assert all(each.end - each.start >= least for row, each in enumerate(found) if not is_skippable[row])
    assert sum(scores[row, each.start : each.end].sum() for row, each in taken) == pytest.approx(best, abs=1e-9)


def test_a_pause_takes_the_silence() -> None:
    scores = np.array([[0, 0, 0, 0, 0, 0.0], [2, 2, -1, -1, -1, -1], [-1, -1, 1, 1, -1, -1], [-1, -1, -1, -1, 2, 2]])
    found = find_stretches(scores, [True, False, True, False], least=1)
    assert found is not None
    assert [(each.start, each.end) for each in found] == [(0, 0), (0, 2), (2, 4), (4, 6)]
