"""Scores from attention: heads moved by their lags, no NaN for any weights, and the reference's matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sasayaki.alignment.attention import contrast, median_filter, token_scores

WEIGHTS = arrays(
    np.float32,
    st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 20)),
    elements=st.floats(0, 1, width=16),
)


def peaks(*places: int, n_steps: int = 50) -> np.ndarray:
    """One head whose tokens each look at one step."""
    weights = np.full((1, len(places), n_steps), 1e-6)
    weights[0, np.arange(len(places)), places] = 1.0
    return weights


@given(WEIGHTS, st.integers(1, 20), st.floats(-1, 1))
def test_scores_are_finite_for_any_weights(weights: np.ndarray, n_steps: int, lag: float) -> None:
    """No zero standard deviation, no empty window and no lag longer than the window gives NaN."""
    n_steps = min(n_steps, weights.shape[2])
    for scores in (token_scores(weights, [lag] * len(weights), np.zeros(n_steps)), contrast(weights, n_steps)):
        assert scores.shape == (weights.shape[1], n_steps)
        assert np.isfinite(scores).all()


def test_heads_are_moved_back_by_their_lags() -> None:
    weights = np.concatenate([peaks(10, 30), peaks(14, 34)])
    scores = token_scores(weights, [0.04, 0.12], np.zeros(50))
    assert scores.argmax(axis=1).tolist() == [10, 30]


def test_a_token_keeps_its_score_after_it_was_looked_at_not_before() -> None:
    scores = token_scores(peaks(10, 30), [0.04], np.zeros(50))
    assert scores[0, 20] > scores[1, 20]
    assert scores[0, 9] < scores[0, 10]


def test_a_token_loses_its_score_in_silence() -> None:
    silence = np.zeros(50)
    silence[12:20] = 1.0
    loud, silent = (token_scores(peaks(10, 30), [0.04], each)[0, 19] for each in (np.zeros(50), silence))
    assert silent < loud - 2


def test_all_tokens_alike_have_no_contrast() -> None:
    assert np.abs(contrast(np.full((2, 3, 10), 0.1), 10)).max() < 1e-3


@pytest.mark.parametrize("n_steps", [1, 2, 3, 4, 9])
def test_the_median_is_that_of_the_reflected_values(n_steps: int) -> None:
    values = np.random.default_rng(n_steps).normal(size=(2, n_steps))
    filtered = median_filter(values, 7)
    if n_steps <= 3:
        assert (filtered == values).all()
        return
    padded = np.pad(values, ((0, 0), (3, 3)), mode="reflect")
    assert filtered == pytest.approx(
        np.stack([np.median(padded[:, k : k + 7], axis=1) for k in range(n_steps)], axis=1)
    )
