"""Array helpers: NumPy equals torch, the fast top-k equals a sort, and the edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.arrays import (
    forbid_where,
    like,
    logsumexp,
    norms_before_and_after,
    take_columns,
    to_numpy,
    top_k,
)

KINDS = pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


def random_rows(seed: int, n_batch: int, n_vocab: int, *, with_ties: bool = False) -> np.ndarray:
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 4, (n_batch, n_vocab)) if with_ties else draw.normal(size=(n_batch, n_vocab))
    return np.where(draw.random((n_batch, n_vocab)) < 0.2, -np.inf, rows).astype(np.float32)


@KINDS
def test_logsumexp_is_that_of_the_definition(make: Any) -> None:
    x = make(np.log(np.array([[1, 2, 3], [4, 0.5, 0.5]], np.float32)))
    np.testing.assert_allclose(to_numpy(logsumexp(x)), np.log([6, 5]), rtol=1e-6)


@KINDS
def test_logsumexp_neither_overflows_nor_warns(make: Any) -> None:
    x = make(np.array([[1000, 1000], [-1000, -np.inf], [-np.inf, -np.inf]], np.float32))
    np.testing.assert_allclose(to_numpy(logsumexp(x)), [1000 + math.log(2), -1000, -math.inf], rtol=1e-6)


@KINDS
@pytest.mark.parametrize("case", range(60))
def test_norms_before_and_after_filters_are_those_of_two_sums(make: Any, case: int) -> None:
    """Whether little or nearly all of the probability is banned, or a token is made likelier."""
    draw = np.random.default_rng(case)
    before = (random_rows(case, 3, 900) * draw.choice([1.0, 10.0, 60.0])).astype(np.float32)
    after = before.copy()
    for row in after:
        changed = draw.choice(900, draw.choice([0, 1, 40, 600, 900]), replace=False)
        row[changed] = row[changed] + 30 if draw.random() < 0.2 else -np.inf
        row[draw.choice([row.argmax(), 5])] = -np.inf
    with np.errstate(divide="ignore"):
        expected = [np.logaddexp.reduce(x.astype(np.float64), axis=1) for x in (before, after)]
    norms = norms_before_and_after(make(before.copy()), make(after.copy()))
    for norm, slow in zip(norms, expected, strict=True):
        np.testing.assert_allclose(to_numpy(norm), slow, rtol=1e-6, atol=3e-6)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_batch=st.integers(1, 3),
    n_vocab=st.sampled_from([1, 5, 127, 128, 129, 320, 700, 1771, 2048]),
    k=st.integers(1, 9),
    with_ties=st.booleans(),
)
def test_top_k_is_the_head_of_a_stable_sort(seed: int, n_batch: int, n_vocab: int, k: int, with_ties: bool) -> None:
    x = random_rows(seed, n_batch, n_vocab, with_ties=with_ties)
    expected = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(top_k(x, k), expected)
    same_values = to_numpy(top_k(torch.as_tensor(x), k))
    np.testing.assert_array_equal(take_columns(x, same_values), take_columns(x, expected))


@pytest.mark.parametrize("place", [0, 127, 128, 895, 896, 898])
def test_top_k_finds_the_largest_in_every_group_and_in_the_tail(place: int) -> None:
    x = np.zeros((1, 899), np.float32)
    x[0, place] = 1
    assert top_k(x, 2)[0, 0] == place


def test_the_other_helpers_are_equal_for_numpy_and_torch() -> None:
    x = random_rows(1, 4, 50)
    columns = np.array([[0, 3], [49, 1], [2, 2], [7, 8]])
    t = torch.as_tensor(x.copy())
    np.testing.assert_array_equal(take_columns(x, columns), take_columns(t, torch.as_tensor(columns)).numpy())
    rows = np.array([True, False, True, False])
    forbid_where(x, rows, 20)
    forbid_where(t, torch.as_tensor(rows), 20)
    np.testing.assert_array_equal(x, t.numpy())
    assert np.isneginf(x[rows, :20]).all()
    assert np.isfinite(x[:, 20:]).any()


@KINDS
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_like_takes_kind_and_dtype_of_its_model(make: Any, dtype: str) -> None:
    x = make(np.zeros(2, dtype))
    made = like(np.array([1, -np.inf], np.float32), x)
    assert type(made) is type(x)
    assert made.dtype == x.dtype
