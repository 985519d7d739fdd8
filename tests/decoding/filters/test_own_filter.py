"""Filters of the user's own: where they stand, what they may do, and what is said when they go wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding.filters.chain import build_filters
from sasayaki.decoding.filters.own import OwnFilter
from sasayaki.decoding.states import HypothesisStates
from sasayaki.errors import OptionError
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.trace import DecodeStarted, Trace
from tests.decoding.scripts import decode_names, decode_one, decoder_of, mel, outcome, random_script
from tests.fakes import EOT, N_VOCAB, TIMESTAMP_BEGIN, ScriptedInference, byte_tokenizer, say, text, ts

Rows = Sequence[tuple[int, ...]]


class Does:
    """A filter that does what it is told."""

    def __init__(self, action: Callable[[Any, Rows], object]) -> None:
        self._action = action

    def apply(self, logits: Any, sampled: Rows) -> Any:
        return self._action(logits, sampled)


class NoDigits:
    """Bans digits: the shortest filter that does something."""

    def apply(self, logits: Any, sampled: Rows) -> None:
        logits[:, list(b"0123456789")] = -math.inf


HELLO = say([ts(0.0), *text("4ever"), ts(1.0)])


@pytest.mark.parametrize("beam_size", [None, 3])
def test_a_filter_of_ones_own_is_applied_in_every_step(beam_size: int | None) -> None:
    assert decode_one(HELLO, beam_size=beam_size).text == "4ever"
    assert "4" not in decode_one(HELLO, beam_size=beam_size, filters=[NoDigits()]).text


def test_it_stands_behind_the_bans_and_before_the_timestamp_rules() -> None:
    seen: list[np.ndarray] = []
    decode_one(HELLO, filters=[Does(lambda logits, _: seen.append(logits.copy()))])
    assert np.isneginf(seen[0][0, EOT])  # the end is banned at first
    assert np.isneginf(seen[0][0, EOT + 1 : TIMESTAMP_BEGIN - 1]).all()  # control tokens always
    assert np.isfinite(seen[0][0, :32]).all()  # text at first is what the timestamp rules ban
    tokenizer = byte_tokenizer()
    chain = build_filters(DecodingOptions(filters=[NoDigits(), NoDigits()]), tokenizer, N_VOCAB, ())
    names = [type(each).__name__ for each in chain]
    assert names == ["SuppressBlank", "SuppressTokens", "OwnFilter", "OwnFilter", "ApplyTimestampRules"]


def test_a_trace_knows_it_by_its_own_name() -> None:
    trace = Trace()
    model = Whisper(ScriptedInference(HELLO), byte_tokenizer(), suppress=())
    model.decode(mel(1.0), language="en", filters=[NoDigits()], trace=trace)
    started = next(event for event in trace if isinstance(event, DecodeStarted))
    assert started.stages == ("SuppressBlank", "SuppressTokens", "NoDigits", "ApplyTimestampRules")


def test_they_are_applied_in_the_order_given() -> None:
    order: list[str] = []
    filters = [Does(lambda *_, name=name: order.append(name)) for name in "ab"]  # type: ignore[misc]
    decode_one(HELLO, filters=filters)
    assert order[:4] == ["a", "b", "a", "b"]


def test_without_filters_nothing_is_checked() -> None:
    chain = build_filters(DecodingOptions(), byte_tokenizer(), N_VOCAB, ())
    assert not any(isinstance(each, OwnFilter) for each in chain)


class NoThirdTime:
    """Bans a text token that a hypothesis has sampled twice; the counts are state by tokens."""

    def __init__(self) -> None:
        self.states: HypothesisStates[dict[int, int]] = HypothesisStates(
            {}, lambda counts, token: {**counts, token: counts.get(token, 0) + 1}
        )

    def apply(self, logits: Any, sampled: Rows) -> None:
        for row, counts in enumerate(self.states.of(sampled)):
            logits[row, [token for token, n in counts.items() if n >= 2 and token < EOT]] = -math.inf


class NoThirdTimeSlow:
    """The same without state."""

    def apply(self, logits: Any, sampled: Rows) -> None:
        for row, tokens in enumerate(sampled):
            logits[row, [token for token in tokens if tokens.count(token) >= 2 and token < EOT]] = -math.inf


@pytest.mark.parametrize("case", range(8))
@pytest.mark.parametrize("options", [{}, {"beam_size": 5}, {"temperature": 0.8, "best_of": 3}])
def test_state_follows_the_beams(case: int, options: dict[str, Any]) -> None:
    """One filter with state serves rows that split, swap and leave, of several windows at once."""
    decoder = decoder_of(random_script(case, eot=-3.0))
    plain, fast, slow = (
        [
            outcome(result)
            for result in decode_names(
                decoder, [1.0, 2.0, 3.0], DecodingOptions(language="en", sample_len=40, **options, filters=filters)
            )
        ]
        for filters in ([], [NoThirdTime()], [NoThirdTimeSlow()])
    )
    assert fast == slow
    assert fast != plain


def ban_all(logits: Any, sampled: Rows) -> None:
    logits[:] = -math.inf


def ban_all_later(logits: Any, sampled: Rows) -> None:
    if len(sampled[0]) == 3:
        logits[:] = -math.inf


def fail(logits: Any, sampled: Rows) -> None:
    raise KeyError("no such word")


def reshape(logits: Any, sampled: Rows) -> None:
    logits.shape = (*logits.shape, 1)


def spoil(logits: Any, sampled: Rows) -> None:
    logits[0, 5] = math.nan


def overflow(logits: Any, sampled: Rows) -> None:
    logits[0, 5] = math.inf


@pytest.mark.parametrize("beam_size", [None, 3])
@pytest.mark.parametrize(
    ("action", "said"),
    [
        (lambda logits, sampled: logits, r"returned ndarray; change the logits in place.* \(step 0\)"),
        (lambda logits, sampled: logits[:, :5], r"returned ndarray.* \(step 0\)"),
        (lambda logits, sampled: True, r"returned bool.* \(step 0\)"),
        (reshape, r"made logits of float32 \(1, \d+\) into float32 \(1, \d+, 1\); keep shape and dtype \(step 0\)"),
        (fail, r"raised KeyError: 'no such word' \(step 0\)"),
        (lambda logits, sampled: logits[:, 10**6], r"raised IndexError: .*\(step 0\)"),
        (ban_all, r"forbids every token.* \(step 0\)"),
        (ban_all_later, r"forbids every token.* \(step 3\)"),
        (spoil, r"left logits that are NaN or inf.* \(step 0\)"),
        (overflow, r"left logits that are NaN or inf.* \(step 0\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_an_error_names_the_filter_and_the_step(
    action: Callable[[Any, Rows], object], said: str, beam_size: int | None
) -> None:
    decoder = decoder_of(random_script(1, eot=-30.0))
    options = DecodingOptions(language="en", beam_size=beam_size, filters=[NoDigits(), Does(action)])
    with pytest.raises(OptionError, match=f"^the filter Does {said}"):
        decode_names(decoder, [1.0], options)


def test_what_a_filter_raised_is_the_cause_of_the_error() -> None:
    with pytest.raises(OptionError) as caught:
        decode_one(HELLO, filters=[Does(fail)])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_filter_may_end_single_hypotheses() -> None:
    """The search goes on with the others."""

    def drop_the_first_row(logits: Any, sampled: Rows) -> None:
        if len(sampled) == 3:
            logits[0] = -math.inf

    decoder = decoder_of(random_script(2, eot=-30.0))
    options = DecodingOptions(language="en", beam_size=3, sample_len=6, filters=[Does(drop_the_first_row)])
    assert decode_names(decoder, [1.0], options)[0].text


def test_a_filter_is_not_blamed_for_what_others_banned() -> None:
    logits = np.full((2, 4), -math.inf, np.float32)
    OwnFilter(Does(lambda *_: None)).apply(logits, [(), ()])
    assert np.isneginf(logits).all()


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (lambda logits, _: logits + 1, "returned Tensor"),
        (lambda logits, _: logits.unsqueeze_(2) is None or None, r"made logits of torch.float32 \(2, 8\) into"),
        (fail, "raised KeyError"),
        (ban_all, "forbids every token"),
        (spoil, "NaN or inf"),
    ],
)
def test_torch_is_checked_as_numpy_is(action: Callable[[Any, Rows], object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        OwnFilter(Does(action)).apply(torch.zeros(2, 8), [(), ()])


def test_torch_is_filtered_as_numpy_is() -> None:
    mine = np.random.default_rng(0).normal(size=(3, N_VOCAB)).astype(np.float32)
    tensor = torch.from_numpy(mine.copy())
    for logits in (mine, tensor):
        OwnFilter(NoDigits()).apply(logits, [()] * 3)
    np.testing.assert_array_equal(tensor.numpy(), mine)


@pytest.mark.parametrize("wrong", [[NoDigits], [3], ["digits"], "digits", [lambda logits, sampled: None], [None], None])
@pytest.mark.parametrize("options", [DecodingOptions, TranscribeOptions])
def test_what_has_no_apply_is_refused(options: type, wrong: Any) -> None:
    """Also a class in place of an object."""
    with pytest.raises(OptionError, match="filters must hold objects with a method apply"):
        options(filters=wrong)
