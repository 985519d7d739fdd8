"""SuppressBlank and SuppressTokens, and which tokens the options ban."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding.filters import suppress
from sasayaki.decoding.filters.suppress import SuppressBlank, SuppressTokens, suppressed_tokens
from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from tests.decoding.scripts import decode_one
from tests.fakes import EOT, LANGUAGES, N_VOCAB, NO_SPEECH, SOT, TIMESTAMP_BEGIN, byte_tokenizer, one_hot, say, text, ts

TOKENIZER = byte_tokenizer()
CONTROL = {*range(SOT, SOT + 1 + len(LANGUAGES) + 5)}
"""Start, languages, tasks, start of language model, start of previous text, no speech."""


def banned_by(options: DecodingOptions, model_list: tuple[int, ...] | None = None) -> set[int]:
    return set(suppressed_tokens(options, TOKENIZER, N_VOCAB, model_list))


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_suppressed_tokens_are_banned_in_every_row_and_no_other_is_touched(make: Any) -> None:
    logits = make(np.arange(10, dtype=np.float32).reshape(2, 5))
    SuppressTokens([1, 4], 5).apply(logits, [(), (2, 3)])
    expected = np.arange(10, dtype=np.float32).reshape(2, 5)
    expected[:, [1, 4]] = -np.inf
    np.testing.assert_array_equal(np.asarray(logits), expected)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize(("sampled", "is_banned"), [((), True), ((65,), False)])
def test_blank_and_end_are_banned_at_the_first_position_alone(make: Any, sampled: tuple, is_banned: bool) -> None:
    logits = make(np.zeros((2, N_VOCAB), np.float32))
    SuppressBlank(TOKENIZER, N_VOCAB).apply(logits, [sampled, sampled])
    banned = np.isneginf(np.asarray(logits))
    assert banned[:, [32, EOT]].all() == is_banned
    assert banned.sum() == (4 if is_banned else 0)


def test_minus_one_stands_for_the_list_of_the_model_or_for_non_speech_symbols() -> None:
    assert banned_by(DecodingOptions(suppress_tokens="-1"), (7, 9)) == CONTROL | {7, 9}
    assert banned_by(DecodingOptions(suppress_tokens="-1")) == CONTROL | set(TOKENIZER.non_speech_tokens)
    assert banned_by(DecodingOptions(suppress_tokens="-1,50"), (7,)) == CONTROL | {7, 50}
    assert banned_by(DecodingOptions(suppress_tokens=[50, 50]), (7,)) == CONTROL | {50}


@pytest.mark.parametrize("token", [N_VOCAB, 10**9])
def test_an_id_outside_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(OptionError, match=f"suppress_tokens holds {token}"):
        banned_by(DecodingOptions(suppress_tokens=[3, token]))


@pytest.mark.parametrize("control", sorted(CONTROL))
def test_control_tokens_stay_banned_whatever_falsy_list_is_given(control: int) -> None:
    """B03: a falsy suppress_tokens used to skip the ban of the control tokens along with the list."""
    plain = say([ts(0), *text("abc")], n_initial=3)

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        return one_hot(control, 40.0) if len(history) == 6 else plain(audio, history)

    results = [decode_one(script, suppress_tokens=value) for value in (None, "", [], ())]
    assert not set(results[0].tokens) & CONTROL
    assert len({result.tokens for result in results}) == 1


@pytest.mark.parametrize("tokens", [[], [220]])
def test_short_lists_leave_the_prompt_marker_alone(tokens: list[int]) -> None:
    """B05: the marker's id used to be read from a place in the list."""
    assert banned_by(DecodingOptions(suppress_tokens=tokens)) == CONTROL | set(tokens)


def profile_events(run: Callable[[], object]) -> int:
    """Number of calls, of Python and of C functions, that `run` makes."""
    events = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal events
        events += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return events


def test_the_cost_of_a_step_does_not_depend_on_the_length_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """B41: index lists were worked out anew in each step; here a mask is built once, and from then on only added."""
    built = []
    monkeypatch.setattr(suppress, "like", lambda mask, logits: built.append(mask.shape) or mask)
    costs = {}
    for n_banned in (5, 2500):
        ban = SuppressTokens(iter(range(n_banned)), 51865)  # an iterator: read once, never again
        logits = np.zeros((5, 51865), np.float32)
        ban.apply(logits, [()] * 5)
        costs[n_banned] = profile_events(
            lambda ban=ban, logits=logits: [ban.apply(logits, [()] * 5) for _ in range(100)]
        )
        assert np.isneginf(logits).sum() == 5 * n_banned
    assert costs[5] == costs[2500]
    assert built == [(51865,)] * 2


def test_no_speech_and_timestamps_are_told_apart_from_control_tokens() -> None:
    banned = banned_by(DecodingOptions(suppress_tokens=None))
    assert NO_SPEECH in banned
    assert not banned & {EOT, TIMESTAMP_BEGIN - 1, TIMESTAMP_BEGIN}
