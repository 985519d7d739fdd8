"""All hypotheses of a decode: rank, score, why they ended, how many are kept, and what words they offer."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import by_place, decode_names, decode_one, decoder_of, random_script
from tests.fakes import EOT, N_VOCAB, one_hot, text, ts

BEAMS = DecodingOptions(language="en", beam_size=4, patience=2.0)
SAMPLES = DecodingOptions(language="en", temperature=1.0, best_of=5)


def decode(options: DecodingOptions, seed: int = 3) -> DecodingResult:
    return decode_names(decoder_of(random_script(seed)), [0.0], options)[0]


@pytest.mark.parametrize("options", [BEAMS, SAMPLES, DecodingOptions(language="en")])
def test_hypotheses_are_ranked_and_the_first_is_the_result(options: DecodingOptions) -> None:
    result = decode(options)
    assert [each.rank for each in result.hypotheses] == list(range(len(result.hypotheses)))
    scores = [each.score for each in result.hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert (result.tokens, result.text) == (result.hypotheses[0].tokens, result.hypotheses[0].text)
    assert result.confidence == pytest.approx(result.hypotheses[0].confidence, nan_ok=True)


@pytest.mark.parametrize("options", [BEAMS, SAMPLES])
@pytest.mark.parametrize("n_best", [1, 2, 100])
def test_n_best_keeps_the_first_ones(options: DecodingOptions, n_best: int) -> None:
    every = decode(options)
    kept = decode(replace(options, n_best=n_best))
    assert kept.hypotheses == every.hypotheses[:n_best]
    assert kept.tokens == every.tokens
    if n_best == 1:
        assert all(len(slot.alternatives) == 1 for slot in kept.alternatives)


@pytest.mark.parametrize("options", [BEAMS, SAMPLES])
def test_every_token_has_its_log_probability_before_and_after_the_filters(options: DecodingOptions) -> None:
    for hypothesis in decode(options).hypotheses:
        n_token = len(hypothesis.tokens)
        assert len(hypothesis.token_logprobs) == len(hypothesis.token_raw_logprobs) == n_token
        assert len(hypothesis.token_probs) == n_token
        assert all(0 <= probability <= 1 for probability in hypothesis.token_probs)
        assert hypothesis.sum_logprob <= sum(hypothesis.token_logprobs) + 1e-6


def dead_end(after: int) -> Any:
    """A script that leaves one token, then none."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        logits = np.full(N_VOCAB, -math.inf, np.float32)
        logits[ord("(") if len(sampled) >= after else ord("a")] = 0.0  # "(" is banned by the filters
        return logits

    return by_place(3 + 1, logits_at)


@pytest.mark.parametrize("options", [{}, {"beam_size": 2}, {"temperature": 0.5, "best_of": 2}])
def test_why_a_hypothesis_ended_is_told(options: dict[str, Any]) -> None:
    dead = decode_one(dead_end(2), without_timestamps=True, **options)
    assert {each.stop for each in dead.hypotheses} == {"dead"}
    assert dead.text == "aa"
    endless = by_place(3, lambda _, sampled: one_hot(ord("a") if sampled else ts(0)))
    cut = decode_one(endless, sample_len=4, suppress_tokens=[EOT], **options)
    assert {each.stop for each in cut.hypotheses} == {"length"}
    said = {4: ord("a"), 3: ts(0)}
    whole = decode_one(lambda _, history: one_hot(said.get(len(history), EOT)), **options)
    assert whole.hypotheses[0].stop == "eot"


def test_two_readings_of_a_word_are_alternatives_with_their_probabilities() -> None:
    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        spoken = bytes(token for token in sampled if token < 256)
        if not sampled:
            return one_hot(ts(0), 50.0)
        if spoken == b" ":
            logits = np.full(N_VOCAB, -50.0, np.float32)
            logits[[ord("r"), ord("l")]] = np.log([0.7, 0.3])
            return logits
        rest = {b"": " ", b" r": "o", b" l": "o", b" ro": "w", b" lo": "w"}.get(spoken)
        return one_hot(ord(rest) if rest else EOT, 50.0)

    result = decode_one(by_place(3, logits_at), beam_size=2, suppress_tokens="")
    (slot,) = result.alternatives
    assert slot.text == "row"
    shares = {each.text: each.probability for each in slot.alternatives}
    assert shares == pytest.approx({"row": 0.7, "low": 0.3}, abs=1e-4)
    assert [word.tokens for word in result.hypotheses[0].words] == [text(" row")]


def test_hypotheses_become_json() -> None:
    plain = decode(BEAMS).to_dict()
    assert plain["hypotheses"][0]["rank"] == 0
    assert set(plain["alternatives"][0]) == {"text", "alternatives"}
