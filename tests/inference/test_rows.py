"""Tests of the bookkeeping of ragged rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.inference.base import Row
from sasayaki.inference.rows import RowLayout
from tests.models import tiny_dims

DIMS = tiny_dims(n_text_ctx=24)


def row(*tokens: int, source: int | None = None, read: tuple[int, ...] = (-1,)) -> Row:
    return Row(audio=Any, tokens=tokens, source=source, read=read)


def test_shorter_prompts_are_padded_on_the_left() -> None:
    layout = RowLayout.empty().advance([row(5, 6, 7), row(8)], DIMS)
    assert layout.n_past == 0
    assert layout.tokens.tolist() == [[5, 6, 7], [0, 0, 8]]
    assert layout.positions.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert layout.is_own.tolist() == [[True, True, True], [False, False, True]]
    assert layout.lengths.tolist() == [3, 1]
    assert layout.mask[0].tolist() == np.tri(3, dtype=bool).tolist()
    assert layout.mask[1].tolist() == np.eye(3, dtype=bool).tolist()  # padding sees itself only


def test_a_row_sees_its_own_columns_of_the_line_it_takes_over() -> None:
    first = RowLayout.empty().advance([row(5, 6, 7), row(8)], DIMS)
    second = first.advance([row(9, source=1), row(10, 11, source=0), row(12, source=1)], DIMS)
    assert second.n_past == 3
    assert second.sources.tolist() == [1, 0, 1]
    assert second.positions.tolist() == [[0, 1], [3, 4], [0, 1]]
    assert second.lengths.tolist() == [2, 5, 2]
    assert second.mask[0, 1].tolist() == [False, False, True, False, True]
    assert second.mask[1, 0].tolist() == [True, True, True, True, False]
    assert second.mask[1, 1].tolist() == [True, True, True, True, True]


def test_a_joining_row_sees_nothing_of_the_line_it_lands_on() -> None:
    first = RowLayout.empty().advance([row(5, 6, 7)], DIMS)
    second = first.advance([row(8, source=0), row(9)], DIMS)
    assert second.mask[1, 0].tolist() == [False, False, False, True]
    assert second.positions.tolist() == [[3], [0]]
    assert second.lengths.tolist() == [4, 1]


def test_the_past_is_dropped_when_every_row_starts_empty() -> None:
    first = RowLayout.empty().advance([row(5, 6, 7)], DIMS)
    second = first.advance([row(8), row(9)], DIMS)
    assert second.n_past == 0
    assert second.mask.shape == (2, 1, 1)
    assert second.sources.tolist() == [0, 1]


def test_read_positions_count_within_the_tokens_of_the_row() -> None:
    layout = RowLayout.empty().advance([row(5, 6, 7, read=(0, -1)), row(8, 9, read=(0,)), row(1)], DIMS)
    assert layout.read.tolist() == [[0, 2], [1, 1], [2, 2]]


def test_positions_are_tokens_so_far_in_the_row_whatever_the_width_of_the_cache() -> None:
    """B47: the offset is the number of the row's own tokens, never the length of some cache entry."""
    layout = RowLayout.empty().advance([row(1, 2, 3, 4), row(1)], DIMS)
    for step in range(1, 10):
        layout = layout.advance([row(7, source=0), row(7, source=1)], DIMS)
        assert layout.positions.tolist() == [[3 + step], [step]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least one row"),
        ([row()], "row 0 has no new tokens"),
        ([row(1), row(2, source=1)], "row 1 continues row 1, but the previous call had 1 rows"),
        ([row(1, source=-1)], "continues row -1"),
        ([row(1, read=())], "must read at positions within its 1 new tokens"),
        ([row(1, read=(1,))], "must read"),
        ([row(1, 2, read=(-3,))], "must read"),
        ([row(130)], r"outside 0 … 129"),
        ([row(-1)], "outside"),
        ([row(*range(23), source=0)], "would have 25 tokens, but the model's text context holds 24"),
        ([row(*range(25))], "would have 25 tokens"),
    ],
)
def test_impossible_rows_are_refused(rows: list[Row], message: str) -> None:
    layout = RowLayout.empty().advance([row(1, 2)], DIMS)
    with pytest.raises(ValueError, match=message):
        layout.advance(rows, DIMS)


def test_a_row_may_fill_the_text_context_to_the_last_token() -> None:
    layout = RowLayout.empty().advance([row(1)], DIMS).advance([row(*range(23), source=0)], DIMS)
    assert layout.lengths.tolist() == [24]


@st.composite
def calls(draw: st.DrawFn) -> list[list[tuple[int | None, tuple[int, ...]]]]:
    """Calls of rows as (source, tokens), valid for a text context that is never full."""
    result = []
    n_previous = 0
    for _ in range(draw(st.integers(1, 5))):
        sources = st.none() | st.integers(0, n_previous - 1) if n_previous else st.none()
        tokens = st.lists(st.integers(0, 129), min_size=1, max_size=4).map(tuple)
        result.append(draw(st.lists(st.tuples(sources, tokens), min_size=1, max_size=4)))
        n_previous = len(result[-1])
    return result


@given(calls())
def test_every_token_sees_exactly_the_history_of_its_row(
    history: list[list[tuple[int | None, tuple[int, ...]]]],
) -> None:
    """A cache of token ids, moved as an engine moves its keys, shows each token its row's own history."""
    layout = RowLayout.empty()
    cache = np.zeros((0, 0), np.int64)
    texts: list[tuple[int, ...]] = []
    for call in history:
        layout = layout.advance([row(*tokens, source=source) for source, tokens in call], DIMS)
        past = cache[layout.sources] if layout.n_past else np.zeros((len(call), 0), np.int64)
        cache = np.concatenate([past, layout.tokens], axis=1)
        texts = [(() if source is None else texts[source]) + tokens for source, tokens in call]
        for index, (text, (_, tokens)) in enumerate(zip(texts, call, strict=True)):
            for back in range(1, len(tokens) + 1):
                seen = cache[index][layout.mask[index, -back]]
                assert tuple(seen) == text[: len(text) - back + 1]
                assert layout.positions[index, -back] == len(text) - back


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), max_size=6))
def test_steps_are_laid_out_like_any_call(steps: list[list[int]]) -> None:
    """The slow twin of a step is the way of any call."""
    layout = RowLayout.empty().advance([row(*range(length)) for length in range(1, 6)], DIMS)
    for sources in steps:
        rows = [row(place, source=source % len(layout.lengths)) for place, source in enumerate(sources)]
        quick, slow = layout.advance(rows, DIMS), layout._call(rows, DIMS)
        for name in RowLayout.__slots__:
            found, expected = getattr(quick, name), getattr(slow, name)
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()
        layout = quick
