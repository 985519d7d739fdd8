"""ApplyTimestampRules: each rule by itself, rows with different histories, and what holds for any logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.filters.timestamps import ApplyTimestampRules
from tests.decoding.scripts import N_TIMESTAMPS, SMALL_TOKENIZER, by_place, decode_one, generator
from tests.decoding.scripts import N_VOCAB as N_SMALL
from tests.fakes import EOT, N_VOCAB, NO_TIMESTAMPS, TIMESTAMP_BEGIN, byte_tokenizer, one_hot, say, text, ts

A, B = text("ab")
TEXT, SPECIAL = range(EOT), range(EOT, TIMESTAMP_BEGIN)
T = TIMESTAMP_BEGIN


def allowed(sampled: tuple[int, ...], *, favourite: int = A, limit: int | None = None) -> set[int]:
    """Tokens left over, when one of them is so likely that the fifth rule stays out of the way."""
    logits = one_hot(favourite, 30.0, N_SMALL)[None]
    ApplyTimestampRules(SMALL_TOKENIZER, limit).apply(logits, [sampled])
    return set(np.flatnonzero(np.isfinite(logits[0])).tolist())


def timestamps(first: int, last: int = N_TIMESTAMPS - 1) -> set[int]:
    return {T + step for step in range(first, last + 1)}


def not_timestamps(*, is_text_allowed: bool = True) -> set[int]:
    return {*(TEXT if is_text_allowed else ()), *SPECIAL} - {NO_TIMESTAMPS}


def test_rule_1_notimestamps_is_never_sampled() -> None:
    assert NO_TIMESTAMPS not in allowed((T, A)) | allowed((A,)) | allowed((T, A, T + 1), favourite=EOT)


def test_rule_2_after_a_pair_text_or_the_end_must_follow() -> None:
    assert allowed((T, A, T + 3, T + 3)) == not_timestamps()


def test_rule_2_the_first_timestamp_counts_as_a_pair() -> None:
    assert allowed((T,)) == not_timestamps()


def test_rule_2_after_a_closing_timestamp_no_text_may_follow() -> None:
    assert allowed((T, A, T + 3), favourite=EOT) == not_timestamps(is_text_allowed=False) | timestamps(3)


def test_rule_3_a_segment_is_never_empty_and_times_never_go_back() -> None:
    assert allowed((T + 2, A)) == not_timestamps() | timestamps(3)
    assert allowed((T, A, T + 3, T + 5, A, B)) == not_timestamps() | timestamps(6)


def test_rule_3_a_segment_may_start_where_the_last_one_ended() -> None:
    assert T + 3 in allowed((T, A, T + 3), favourite=EOT)
    assert T + 2 not in allowed((T, A, T + 3), favourite=EOT)


def test_rule_3_nothing_but_text_or_the_end_is_left_after_the_last_timestamp() -> None:
    last = T + N_TIMESTAMPS - 1
    assert allowed((T, A, last, last, A)) == not_timestamps()


@pytest.mark.parametrize("limit", [0, 5, N_TIMESTAMPS - 1, 1500])
def test_rule_4_the_first_token_is_a_timestamp_within_the_limit(limit: int) -> None:
    assert allowed((), limit=limit) == timestamps(0, min(limit, N_TIMESTAMPS - 1))


def test_rule_4_without_a_limit_any_timestamp_may_be_first() -> None:
    assert allowed(()) == timestamps(0)


@pytest.mark.parametrize(("mass", "is_forced"), [(1.01, True), (0.99, False)])
def test_rule_5_timestamps_likelier_together_than_any_other_token_are_taken(mass: float, is_forced: bool) -> None:
    logits = np.full((1, N_SMALL), -np.inf, np.float32)
    logits[0, [A, B]] = 0.0  # two texts of mass 1 each, and four timestamps with `mass` among them
    logits[0, T + 1 : T + 5] = np.log(mass / 4)
    ApplyTimestampRules(SMALL_TOKENIZER, None).apply(logits, [(T, A)])
    assert np.isneginf(logits[0, [A, B]]).all() == is_forced
    assert np.isfinite(logits[0, T + 1 : T + 5]).all()


def test_rule_5_counts_only_timestamps_that_the_other_rules_left() -> None:
    logits = np.zeros((1, N_SMALL), np.float32)
    logits[0, T : T + 4] = 50.0  # likely, but they would go back
    logits[0, A] = 10.0
    ApplyTimestampRules(SMALL_TOKENIZER, None).apply(logits, [(T + 5, A)])
    assert logits[0].argmax() == A


def test_each_row_has_its_own_history() -> None:
    """B29: rules read from one shared history let the times of another hypothesis go back."""
    logits = np.stack([one_hot(EOT, 30.0)] * 2)
    ApplyTimestampRules(byte_tokenizer(), None).apply(logits, [(ts(0), A, ts(4)), (ts(0), B, ts(2))])
    first, second = (np.flatnonzero(np.isfinite(row[T:])) + T for row in logits)
    assert first.min() == ts(4)
    assert second.min() == ts(2)


def test_beams_close_and_open_their_own_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """B29: the same through a beam search of width two, whose beams stand at 4.00 and at 2.00 s."""
    seen: dict[tuple[int, ...], int] = {}
    plain = ApplyTimestampRules.apply

    def spy(self: ApplyTimestampRules, logits: np.ndarray, sampled: list[tuple[int, ...]]) -> None:
        plain(self, logits, sampled)
        for tokens, row in zip(sampled, logits, strict=True):
            seen[tokens] = int(np.argmax(np.isfinite(row[T:]))) + T

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        if len(sampled) == 1:
            return one_hot(A, 20.0) + one_hot(B, 19.5)
        if len(sampled) == 2:
            return one_hot(ts(4) if sampled[1] == A else ts(2))
        return one_hot({0: ts(0), 3: ts(2.5), 4: A}.get(len(sampled), EOT))

    monkeypatch.setattr(ApplyTimestampRules, "apply", spy)
    result = decode_one(by_place(3, logits_at), beam_size=2)
    assert seen[ts(0), A, ts(4)] == ts(4)
    assert seen[ts(0), B, ts(2)] == ts(2)
    for hypothesis in result.hypotheses:
        times = [token for token in hypothesis.tokens if token >= T]
        assert times == sorted(times)


@pytest.mark.parametrize("seed", range(20))
def test_torch_rows_are_filtered_as_numpy_rows_are(seed: int) -> None:
    draw = generator(seed)
    logits = draw.normal(size=(3, N_SMALL)).astype(np.float32) * 5
    a, b = sorted(draw.choice(N_TIMESTAMPS, 2, replace=False) + T)
    histories: Any = [[(), (), ()], [(a, A), (a, A, b), (b,)], [(a, A, b, b), (a, A, b, b, B), (A, B)]][seed % 3]
    tensor = torch.as_tensor(logits.copy())
    ApplyTimestampRules(SMALL_TOKENIZER, 3).apply(logits, histories)
    ApplyTimestampRules(SMALL_TOKENIZER, 3).apply(tensor, histories)
    np.testing.assert_array_equal(tensor.numpy(), logits)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), limit=st.one_of(st.none(), st.integers(0, N_TIMESTAMPS)))
def test_whatever_the_logits_timestamps_never_go_back_and_no_segment_is_empty(seed: int, limit: int | None) -> None:
    draw, rules = generator(seed), ApplyTimestampRules(SMALL_TOKENIZER, limit)
    sampled: tuple[int, ...] = ()
    while len(sampled) < 25 and EOT not in sampled:
        logits = draw.normal(scale=3, size=(1, N_SMALL)).astype(np.float32)
        logits[0, 3:EOT], logits[0, EOT + 1 : NO_TIMESTAMPS] = -np.inf, -np.inf
        rules.apply(logits, [sampled])
        if not np.isfinite(logits).any():
            break
        sampled += (int(draw.choice(np.flatnonzero(np.isfinite(logits[0])))),)
    is_time = [token >= T for token in sampled]
    times = [token for token in sampled if token >= T]
    assert is_time[0]
    assert limit is None or times[0] - T <= limit
    assert times == sorted(times)
    assert not any(all(is_time[place : place + 3]) for place in range(len(sampled) - 2)), "three in a row"
    assert not all(is_time[:2]) or len(sampled) < 2, "a segment without text at the start"
    for place in range(1, len(sampled)):
        if is_time[place] and not is_time[place - 1]:  # the end of a segment lies after its start
            assert sampled[place] > max(token for token in sampled[:place] if token >= T)


def test_the_first_sampled_token_is_a_timestamp_though_text_is_likelier() -> None:
    """B34: text in the first place was parsed as a time before the start."""
    result = decode_one(say([A, *text("bc")]))
    assert result.tokens[0] >= T


@pytest.mark.parametrize(("limit", "first"), [(1.0, 1.0), (0.5, 0.5), (None, 12.0), (30.0, 12.0), (1e308, 12.0)])
def test_the_first_timestamp_keeps_the_limit(limit: float | None, first: float) -> None:
    """B37: the limit was dead code; times nearer to the favourite are likelier here."""
    closeness = -np.abs(np.arange(N_VOCAB) - ts(12.0)).astype(np.float32) / 10

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        return one_hot(EOT) if sampled else closeness

    assert decode_one(by_place(3, logits_at), max_initial_timestamp=limit).tokens == (ts(first),)


def test_a_limit_of_zero_is_zero_seconds() -> None:
    """B38: 0.0 was taken for no limit."""
    assert decode_one(say([ts(3.0)]), max_initial_timestamp=0.0).tokens[0] == ts(0.0)
    assert decode_one(say([ts(3.0)]), max_initial_timestamp=0).tokens[0] == ts(0.0)


@pytest.mark.parametrize(("start", "may_end"), [(4.98, False), (5.0, True)])
def test_a_segment_that_begins_too_early_to_be_left_out_is_written(start: float, may_end: bool) -> None:
    spoken = (ts(0), *text("a"), ts(start), ts(start))
    result = decode_one(say([*spoken, EOT, *text("b")]), write_until=5.0)
    assert (result.tokens == spoken) == may_end
    assert decode_one(say([*spoken, EOT])).tokens == spoken


def test_long_text_without_a_timestamp_is_legal() -> None:
    """B42: a guard forced a timestamp after 16 tokens of text, and the rest of the speech was lost."""
    spoken = (ts(0), *text("abcdefghij" * 6), ts(20))
    for options in ({}, {"beam_size": 5}):
        assert decode_one(say(spoken), **options).tokens == spoken
