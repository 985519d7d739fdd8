"""Beam search: against exhaustive search, against greedy search, and the faults that others had."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest

from sasayaki.decoding.beam_search import BeamSearchDecoder
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import (
    N_VOCAB,
    SMALL_TOKENIZER,
    by_place,
    decode_names,
    decode_one,
    decoder_of,
    generator,
    random_options,
    random_script,
    scripted,
)
from tests.fakes import EOT, Script, one_hot, text, ts
from tests.reference.slow_decoder import SlowDecoder

A, B, C = text("abc")
BARE = {"language": "en", "without_timestamps": True, "suppress_blank": False, "suppress_tokens": ""}
"""Options that leave the script's own distribution as it is, control tokens apart."""


def only(tokens: dict[int, float]) -> np.ndarray:
    """Logits that allow these tokens alone; log-probabilities when they sum to 1."""
    logits = np.full(N_VOCAB, -np.inf, np.float32)
    logits[list(tokens)] = list(tokens.values())
    return logits


def tiny_script(seed: int) -> Script:
    """A vocabulary of two texts and the end token."""
    return by_place(
        4, lambda _, sampled: only(dict(zip((A, B, EOT), generator(seed, sampled).normal(size=3), strict=True)))
    )


def small(script: Script, **options: object) -> DecodingResult:
    return decode_names(decoder_of(script), [0.0], DecodingOptions(**{**BARE, **options}))[0]


def every_sequence(script: Script, sample_len: int) -> dict[tuple[int, ...], float]:
    """Log-probability of every sequence that ends within `sample_len` tokens, and of every longer one's head."""
    initial = (*SMALL_TOKENIZER.sot_sequence_including_notimestamps,)
    found = {}
    for length in range(sample_len + 1):
        for sampled in itertools.product((A, B), repeat=length):
            ended = sampled if length == sample_len else (*sampled, EOT)
            total = 0.0
            for place, token in enumerate(ended):
                logits = script(0.0, (*initial, *ended[:place])).astype(np.float64)
                total += logits[token] - math.log(np.exp(logits).sum())
            found[sampled] = total
    return found


@pytest.mark.parametrize("length_penalty", [None, 0.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_a_wide_beam_finds_every_sequence_and_ranks_them(seed: int, length_penalty: float | None) -> None:
    script = tiny_script(seed)
    expected = every_sequence(script, 4)
    result = small(script, beam_size=40, sample_len=4, length_penalty=length_penalty)
    assert {h.tokens: h.sum_logprob for h in result.hypotheses} == pytest.approx(expected, abs=1e-5)
    assert sum(math.exp(total) for total in expected.values()) == pytest.approx(1.0)

    def score(tokens: tuple[int, ...]) -> float:
        length = max(len(tokens), 1) if length_penalty is None else ((5 + len(tokens)) / 6) ** length_penalty
        return expected[tokens] / length

    assert result.tokens == max(expected, key=score)
    scores = [h.score for h in result.hypotheses]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("seed", range(30))
def test_one_beam_is_greedy_search(seed: int) -> None:
    script = random_script(seed, peak=6.0)
    for without_timestamps in (True, False):
        options = {"language": "en", "without_timestamps": without_timestamps, "sample_len": 30}
        greedy, beam = (
            decode_names(decoder_of(script), [0.0], DecodingOptions(**options, beam_size=size))[0] for size in (None, 1)
        )
        assert greedy.hypotheses == beam.hypotheses


@pytest.mark.parametrize("seed", range(40))
def test_every_hypothesis_has_the_score_of_its_own_tokens(seed: int) -> None:
    """B27: scores were picked from the row that a beam ended in, not from its ancestry."""
    script = random_script(seed, eot=1.0)
    options = DecodingOptions(language="en", beam_size=4, patience=2.0, sample_len=8, without_timestamps=seed % 2 == 0)
    slow = SlowDecoder(script, 0.0, SMALL_TOKENIZER, options, 448)
    decoder = decoder_of(script)
    for result in decode_names(decoder, [0.0, 0.0], options):
        for hypothesis in result.hypotheses:
            tokens = hypothesis.tokens + (EOT,) * (hypothesis.stop == "eot")
            histories = [(*slow.initial, *tokens[:place]) for place in range(len(tokens))]
            forced = [slow._logprobs(history)[token] for history, token in zip(histories, tokens, strict=True)]
            raw = [slow._logits(history) for history in histories]
            assert hypothesis.sum_logprob == pytest.approx(sum(forced), abs=1e-5)
            assert hypothesis.token_logprobs == pytest.approx(forced[: len(hypothesis.tokens)], abs=1e-5)
            expected = [logits[t] - np.logaddexp.reduce(logits) for logits, t in zip(raw, tokens, strict=True)]
            assert hypothesis.token_raw_logprobs == pytest.approx(expected[: len(hypothesis.tokens)], abs=1e-5)


def test_a_winner_may_come_from_the_third_place() -> None:
    """B27: its score is the sum along its own way."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        if not sampled:
            return only({A: math.log(0.5), B: math.log(0.3), C: math.log(0.2)})
        if sampled[0] == C:
            return only({EOT if len(sampled) > 1 else C: 0.0})
        return only({token: math.log(1 / 6) for token in (A, B, C, 100, 101, 102)})

    result = small(by_place(4, logits_at), beam_size=3, sample_len=4)
    assert result.tokens == (C, C)
    assert result.hypotheses[0].sum_logprob == pytest.approx(math.log(0.2))


def test_when_all_tie_the_beams_differ_and_the_order_is_stable() -> None:
    """B25: candidates of the same score as the one before were skipped, until the list ran out."""
    script = by_place(
        4, lambda _, sampled: np.zeros(N_VOCAB, np.float32) if len(sampled) < 4 else one_hot(EOT, 20.0, N_VOCAB)
    )
    runs = []
    for _ in range(2):
        decoder = decoder_of(script)
        result = decode_names(decoder, [0.0], DecodingOptions(**BARE, beam_size=5))[0]
        for call in scripted(decoder).calls[1:]:
            assert len(set(call.histories)) == 5
        assert len({h.tokens for h in result.hypotheses}) == 5
        runs.append([h.tokens for h in result.hypotheses])
    assert runs[0] == runs[1]


def test_beams_are_told_apart_by_their_tokens() -> None:
    """B26: with rows that differ by rounding, equal sequences survived as different beams."""
    calls = itertools.count()
    plain = random_script(3, eot=-3.0)

    def noisy(audio: object, history: tuple[int, ...]) -> np.ndarray:
        return plain(audio, history) + np.float32(1e-6 * (-1) ** next(calls))

    decoder = decoder_of(noisy)
    decode_names(decoder, [0.0, 1.0], DecodingOptions(language="en", beam_size=4, sample_len=12))
    for call in scripted(decoder).calls:
        rows = [(row.audio, history) for row, history in zip(call.rows, call.histories, strict=True)]
        assert max(Counter(rows).values()) == 1
        assert len(rows) in (2, 8)


def test_the_pool_takes_as_many_as_patience_says() -> None:
    script = by_place(4, lambda _, sampled: only({A: 0.0, B: -0.1, EOT: 0.4}))
    for patience, n_finished in ((None, 4), (0.5, 2), (1.5, 6)):
        result = small(script, beam_size=4, patience=patience, sample_len=9)
        ended = [h for h in result.hypotheses if h.stop == "eot"]
        assert len(ended) == n_finished
        assert len(result.hypotheses) == max(n_finished, 4), "living ones fill the pool up to the beam size"


def test_living_beams_are_taken_when_the_length_is_reached() -> None:
    result = small(by_place(4, lambda _, sampled: only({A: 0.0, B: -0.1})), beam_size=3, sample_len=2)
    assert [h.stop for h in result.hypotheses] == ["length"] * 3
    assert result.tokens == (A, A)


def test_beams_that_nothing_may_follow_are_dropped_and_the_last_ones_kept() -> None:
    """Where filters leave no token at all, the sequence ends there; the reference goes on with NaN."""
    last = ts(30)

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        return one_hot({0: ts(0), 1: A, 2: last}.get(len(sampled), last))

    for options in ({}, {"beam_size": 3}, {"temperature": 0.5, "best_of": 3}):
        result = decode_one(
            by_place(3, logits_at), suppress_tokens=[*range(EOT + 1), last - 1], sample_len=30, **options
        )
        assert result.hypotheses
    for options in ({}, {"beam_size": 3}, {"temperature": 0.01, "best_of": 3}):
        banned = [token for token in range(EOT + 1) if token != A]
        result = decode_one(by_place(3, logits_at), suppress_tokens=banned, **options)
        assert result.tokens[:3] == (ts(0), A, last)
        assert all(math.isfinite(h.sum_logprob) for h in result.hypotheses)


def test_a_step_makes_a_new_state_and_leaves_the_old_one() -> None:
    search = BeamSearchDecoder(EOT, beam_size=2)
    state = SearchState(beams=(Beam((A,), sum_logprob=-1.0), Beam((B,), sum_logprob=-1.2)), sources=(0, 0))
    tokens = np.array([(A, EOT, B), (C, EOT, B)])
    logprobs = np.array([(-0.1, -0.2, -3.0), (-0.1, -2.0, -math.inf)])

    after = search.advance(state, Candidates(tokens, logprobs, logprobs))
    assert [(beam.tokens, source) for beam, source in zip(after.beams, after.sources, strict=True)] == [
        ((A, A), 0),
        ((B, C), 1),
    ]
    assert [beam.tokens for beam in after.finished] == [(A, EOT)], "an end behind the last survivor is dropped"
    assert not after.is_done
    assert state.beams[0].tokens == (A,)


@pytest.mark.parametrize("case", range(25))
def test_beams_of_any_options_stay_apart(case: int) -> None:
    """B26: after every step the living hypotheses are pairwise different."""
    decoder = decoder_of(random_script(case))
    with suppress(OptionError):  # of lists that forbid all tokens
        decode_names(decoder, [0.0], random_options(random.Random(case)))
    for call in scripted(decoder).calls:
        assert len(set(call.histories)) == len(call.histories)
