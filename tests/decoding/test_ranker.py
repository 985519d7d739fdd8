"""Ranking of hypotheses by log-probability over length."""

from __future__ import annotations

import pytest

from sasayaki.decoding.ranker import MaximumLikelihoodRanker
from sasayaki.decoding.search import Beam
from tests.decoding.scripts import by_place, decode_one
from tests.fakes import EOT, one_hot


def beam(n_token: int, sum_logprob: float, *, has_end: bool = True) -> Beam:
    return Beam((65,) * n_token + (EOT,) * has_end, sum_logprob=sum_logprob)


@pytest.mark.parametrize("has_end", [True, False])
def test_the_end_token_is_no_length(has_end: bool) -> None:
    assert MaximumLikelihoodRanker(EOT).score(beam(4, -2.0, has_end=has_end)) == -0.5


@pytest.mark.parametrize(("exponent", "score"), [(0.0, -2.0), (1.0, -2.0 / 1.5), (0.5, -2.0 / 1.5**0.5)])
def test_a_length_penalty_follows_its_formula(exponent: float, score: float) -> None:
    assert MaximumLikelihoodRanker(EOT, exponent).score(beam(4, -2.0)) == pytest.approx(score)


def test_an_empty_hypothesis_has_a_score() -> None:
    assert MaximumLikelihoodRanker(EOT).score(beam(0, -2.0)) == -2.0
    assert MaximumLikelihoodRanker(EOT, 1.0).score(beam(0, -2.0)) == pytest.approx(-2.0 / (5 / 6))


def test_the_best_comes_first_and_the_earlier_of_equals() -> None:
    beams = [beam(2, -4.0), beam(1, -1.0), beam(3, -3.0), beam(4, -1.0)]
    assert MaximumLikelihoodRanker(EOT).rank(beams) == [beams[3], beams[1], beams[2], beams[0]]


@pytest.mark.parametrize("options", [{}, {"beam_size": 5}, {"temperature": 1.0, "best_of": 3}])
def test_a_decode_that_ends_at_once_gives_an_empty_text(options: dict) -> None:
    """The reference divides by the length 0 here."""
    script = by_place(4, lambda audio, sampled: one_hot(EOT, 50.0))
    result = decode_one(script, suppress_blank=False, without_timestamps=True, **options)
    assert (result.tokens, result.text, result.compression_ratio) == ((), "", 0.0)
    assert result.avg_logprob == pytest.approx(0.0, abs=1e-6)
