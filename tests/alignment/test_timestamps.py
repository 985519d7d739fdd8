"""Windows cut at their timestamps, by hand and for any tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.alignment.timestamps import TokenSpan, WindowSplit, split_window
from tests.fakes import TIMESTAMP_BEGIN, text, ts

A, B = text(" a"), text(" b")


def split(*tokens: int, n_frames: int = 3000, is_whole: bool = False) -> WindowSplit:
    return split_window(tokens, timestamp_begin=TIMESTAMP_BEGIN, n_frames=n_frames, is_whole=is_whole)


def times(found: WindowSplit) -> list[tuple[float, float]]:
    return [(pytest.approx(span.start), pytest.approx(span.end)) for span in found.spans]


@pytest.mark.parametrize("n_frames", [3000, 1234, 1])
def test_a_lone_zero_timestamp_spans_the_window(n_frames: int) -> None:
    """B50: the segment had no duration and its text was thrown away."""
    found = split(ts(0), *A, *B, n_frames=n_frames)
    assert found == WindowSplit((TokenSpan(0.0, n_frames / 100, (ts(0), *A, *B)),), n_frames)


def test_of_a_whole_window_nothing_is_left_to_the_next_one() -> None:
    found = split(ts(0), *A, ts(7), ts(7), *B, n_frames=1200, is_whole=True)
    assert times(found) == [(0, 7), (7, 12)]
    assert found.spans[1].tokens == (ts(7), *B)
    assert found.advance == 1200


def test_a_segment_of_a_whole_window_that_begins_behind_it_has_a_place_in_it() -> None:
    found = split(ts(0), *A, ts(13), ts(13), *B, n_frames=1200, is_whole=True)
    assert all(0 <= span.start <= span.end <= 12 for span in found.spans)
    assert found.advance == 1200


def test_without_a_pair_the_window_is_one_segment_up_to_its_last_timestamp() -> None:
    found = split(ts(0), *A, ts(7.5))
    assert times(found) == [(0, 7.5)]
    assert found.advance == 3000


def test_text_without_timestamps_spans_the_window() -> None:
    """B71: a window without timestamps is followed by the next one directly."""
    assert split(*A, n_frames=1500) == WindowSplit((TokenSpan(0.0, 15.0, A),), 1500)


def test_no_tokens_are_one_empty_span() -> None:
    assert split() == WindowSplit((TokenSpan(0.0, 30.0, ()),), 3000)


def test_a_pair_before_the_end_makes_no_empty_segment() -> None:
    """B51: each window gave a segment from 5.0 to 5.0 without text."""
    found = split(ts(0), *A, ts(5), ts(5))
    assert times(found) == [(0, 5)]
    assert found.advance == 500


def test_text_without_an_end_is_left_to_the_next_window() -> None:
    """B61: the last complete timestamp decides where the next window starts, in short audio too."""
    found = split(ts(0), *A, ts(8), ts(8), *B, n_frames=2000)
    assert [span.tokens for span in found.spans] == [(ts(0), *A, ts(8))]
    assert found.advance == 800


def test_a_window_that_ends_in_text_and_one_timestamp_is_used_up() -> None:
    found = split(ts(1), *A, ts(3), ts(4), *B, ts(9.98), n_frames=1000)
    assert times(found) == [(1, 3), (4, 9.98)]
    assert found.advance == 1000


def test_two_different_timestamps_in_a_pair_leave_a_gap() -> None:
    found = split(ts(0), *A, ts(2), ts(6), *B, ts(8), ts(8))
    assert times(found) == [(0, 2), (6, 8)]
    assert found.advance == 800


def test_a_pair_at_zero_moves_past_the_window_instead_of_standing_still() -> None:
    assert split(ts(0), ts(0), *A).advance == 3000


@pytest.mark.parametrize("n_frames", [120, 119, 1])
def test_times_past_the_end_move_to_it_and_keep_the_text(n_frames: int) -> None:
    """B110: 1.2 s of audio ended at 10 to 30 s."""
    found = split(ts(0), *A, ts(20), ts(24), *B, ts(29), n_frames=n_frames)
    assert [span.tokens for span in found.spans] == [(ts(0), *A, ts(20)), (ts(24), *B, ts(29))]
    assert all(0 <= span.start < span.end <= n_frames / 100 for span in found.spans)


@pytest.mark.parametrize("n_frames", [2900, 2001, 120, 1])
def test_segments_past_the_end_follow_each_other(n_frames: int) -> None:
    """B110: each was moved to the end by itself, and lay over the one before."""
    found = split(ts(0), *A, ts(20), ts(20), *B, ts(29), ts(29), *A, ts(29.5), ts(29.5), *B, ts(30), n_frames=n_frames)
    edges = [edge for span in found.spans for edge in (span.start, span.end)]
    assert len(found.spans) == 4
    assert edges == sorted(edges)
    assert all(0 <= span.start < span.end <= n_frames / 100 for span in found.spans)


timestamp_tokens = st.integers(TIMESTAMP_BEGIN, TIMESTAMP_BEGIN + 1500)
text_tokens = st.sampled_from(text(" abc"))
frames = st.integers(1, 3000)


@st.composite
def lawful_tokens(draw: st.DrawFn) -> tuple[int, ...]:
    """Tokens as the timestamp rules let them through: rising times, pairs between texts."""
    steps = sorted(draw(st.sets(st.integers(0, 1500), min_size=1, max_size=12)))
    tokens = [TIMESTAMP_BEGIN + steps[0]]
    for step in steps[1:]:
        words = draw(st.lists(text_tokens, min_size=1, max_size=4))
        tokens += [*words, TIMESTAMP_BEGIN + step, TIMESTAMP_BEGIN + step]
    ending = draw(st.integers(0, 2))
    return tuple(tokens + list(A) if ending == 2 else tokens[: len(tokens) - ending])


@given(st.lists(st.one_of(text_tokens, timestamp_tokens), max_size=30), frames)
def test_any_tokens_are_cut_in_order_and_the_window_moves_on(tokens: list[int], n_frames: int) -> None:
    found = split(*tokens, n_frames=n_frames)
    kept = [token for span in found.spans for token in span.tokens]
    assert kept == tokens[: len(kept)]
    assert found.advance >= 1
    if found.advance == n_frames:
        left = tokens[len(kept) :]
        closed = (kept[-1] - TIMESTAMP_BEGIN) * 2 if left else 0
        assert not left or closed in (0, n_frames), "text that is left out is decoded again"
    for span in found.spans:
        if span.end > span.start:
            assert 0 <= span.start < span.end <= n_frames / 100


@given(lawful_tokens(), frames)
def test_lawful_tokens_give_rising_spans_and_lose_no_text(tokens: tuple[int, ...], n_frames: int) -> None:
    found = split(*tokens, n_frames=n_frames)
    edges = [edge for span in found.spans if span.end > span.start for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    kept = [token for span in found.spans if span.end > span.start for token in span.tokens]
    left = tokens[len([token for span in found.spans for token in span.tokens]) :]
    assert [token for token in (*kept, *left) if token < TIMESTAMP_BEGIN] == [
        token for token in tokens if token < TIMESTAMP_BEGIN
    ]
    if left:
        assert left[0] >= TIMESTAMP_BEGIN
        assert found.advance == (left[0] - TIMESTAMP_BEGIN) * 2 or left[0] == TIMESTAMP_BEGIN


@given(lawful_tokens())
def test_times_within_the_window_are_those_of_the_tokens(tokens: tuple[int, ...]) -> None:
    for span in split(*tokens).spans:
        stamps = [(token - TIMESTAMP_BEGIN) * 0.02 for token in span.tokens if token >= TIMESTAMP_BEGIN]
        if len(stamps) == 2:
            assert (span.start, span.end) in ((0.0, stamps[1]), (stamps[0], stamps[1]))
