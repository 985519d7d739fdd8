"""Other ways to search with beams: against the reference, against exhaustive search, alone and in batches."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding import token_decoders
from sasayaki.decoding.arrays import top_k
from sasayaki.decoding.diverse_beams import Offer, select
from sasayaki.decoding.ranker import MaximumLikelihoodRanker
from sasayaki.decoding.scored_beam_search import BeamRules, ScoredBeamSearchDecoder
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import (
    N_VOCAB,
    by_place,
    decode_names,
    decoder_of,
    generator,
    outcome,
    random_script,
    scripted,
)
from tests.fakes import EOT, Script, text

A, B, C = text("abc")
BARE = {"language": "en", "without_timestamps": True, "suppress_blank": False, "suppress_tokens": ""}
CHANGES: list[dict[str, Any]] = [
    {"beam_stop": "bound"},
    {"beam_stop": "estimate"},
    {"beam_ends": "top"},
    {"beam_lookahead": 2},
    {"beam_stop": "estimate", "beam_ends": "all", "beam_lookahead": 1},
    {"beam_stop": "bound", "beam_ends": "all"},
    {"beam_groups": 2, "beam_diversity": 0.7},
    {"length_reward": 0.3},
]


def only(tokens: dict[int, float]) -> np.ndarray:
    """Log-probabilities of these tokens; all others are impossible."""
    logits = np.full(N_VOCAB, -np.inf, np.float32)
    logits[list(tokens)] = list(tokens.values())
    return logits


def tiny_script(seed: int) -> Script:
    """A vocabulary of two texts and the end token."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        return only(dict(zip((A, B, EOT), generator(seed, sampled).normal(size=3), strict=True)))

    return by_place(4, logits_at)


def decode(script: Script, **options: Any) -> DecodingResult:
    return decode_names(decoder_of(script), [0.0], DecodingOptions(**{**BARE, **options}))[0]


def n_rows(script: Script, **options: Any) -> int:
    decoder = decoder_of(script)
    decode_names(decoder, [0.0], DecodingOptions(**{**BARE, **options}))
    return sum(len(call.rows) for call in scripted(decoder).calls)


def best_sequence(script: Script, sample_len: int, score: MaximumLikelihoodRanker) -> tuple[int, ...]:
    """The best of all sequences that end within `sample_len` tokens, found by trying each."""
    scores = {}
    for length in range(sample_len):
        for sampled in itertools.product((A, B), repeat=length):
            total = 0.0
            for place, token in enumerate((*sampled, EOT)):
                logits = script(0.0, (0, 0, 0, 0, *sampled[:place])).astype(np.float64)
                total += logits[token] - math.log(np.exp(logits).sum())
            scores[sampled] = score.score_at(total, length)
    return max(scores, key=lambda sampled: scores[sampled])


@pytest.mark.parametrize("penalty", [{}, {"length_penalty": 0.0}, {"length_penalty": 0.8}, {"length_reward": 0.4}])
@pytest.mark.parametrize("seed", range(8))
def test_a_wide_beam_that_stops_by_bound_finds_the_best_sequence(seed: int, penalty: dict[str, float]) -> None:
    script = tiny_script(seed)
    ranker = MaximumLikelihoodRanker(EOT, **penalty)
    result = decode(script, beam_size=40, sample_len=5, beam_stop="bound", beam_ends="all", **penalty)
    ended = [hypothesis for hypothesis in result.hypotheses if hypothesis.stop == "eot"]
    assert ended[0].tokens == best_sequence(script, 5, ranker)


@pytest.mark.parametrize("penalty", [{}, {"length_penalty": 0.0}, {"length_penalty": 0.6}, {"length_reward": 0.5}])
@pytest.mark.parametrize("seed", range(25))
def test_stop_by_bound_is_never_worse_than_the_pool(seed: int, penalty: dict[str, float]) -> None:
    """Score for score, on random scripts with timestamps and without."""
    script = random_script(seed, eot=float(seed % 5 - 2), scale=2.0)
    options = {"beam_size": 3, "sample_len": 9, "without_timestamps": seed % 2 == 0, **penalty}
    for patience in (1.0, 2.0):
        pool, bound = (decode(script, patience=patience, beam_stop=stop, **options) for stop in ("pool", "bound"))
        assert bound.hypotheses[0].score >= pool.hypotheses[0].score


@pytest.mark.parametrize("seed", range(25))
def test_a_bound_without_length_normalisation_saves_steps(seed: int) -> None:
    """Sums only fall, so the search may end as soon as the best finished one leads; its result stays the best."""
    script = random_script(seed, eot=2.0, scale=3.0)
    options = {"beam_size": 3, "sample_len": 12, "length_penalty": 0.0}
    assert n_rows(script, beam_stop="bound", **options) <= n_rows(script, patience=8.0, **options)
    late, bound = decode(script, patience=8.0, **options), decode(script, beam_stop="bound", **options)
    assert bound.hypotheses[0].score >= max(h.score for h in late.hypotheses if h.stop == "eot")


@pytest.mark.parametrize("seed", range(20))
def test_without_changes_the_rules_are_those_of_the_reference(seed: int) -> None:
    """The two searches are twins where both do the same; neither is written in terms of the other."""
    script = random_script(seed, eot=1.0)
    options = DecodingOptions(**BARE, beam_size=4, sample_len=10, patience=1.5)
    reference = decode_names(decoder_of(script), [0.0], options)[0]
    rules = BeamRules(beam_size=4, max_finished=6, n_steps=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            token_decoders,
            "BeamSearchDecoder",
            lambda eot, **_: ScoredBeamSearchDecoder(eot, MaximumLikelihoodRanker(eot), rules),
        )
        assert outcome(decode_names(decoder_of(script), [0.0], options)[0]) == outcome(reference)


@pytest.mark.parametrize("seed", range(30))
def test_one_group_is_no_group(seed: int) -> None:
    draw = generator(seed)
    offers = [
        Offer(row, Beam((row, int(token)), sum_logprob=float(draw.normal())))
        for row in range(3)
        for token in draw.choice([1, 2, 3, 9], size=3, replace=False)
    ]
    alone = select(offers, 9, 3)
    assert select(offers, 9, 3, n_group=1, diversity=5.0) == alone
    ranked = sorted(offers, key=lambda offer: -offer.beam.sum_logprob)
    assert list(alone.living) == [offer for offer in ranked if offer.beam.tokens[-1] != 9][:3]


def test_groups_choose_other_tokens_than_those_before_them() -> None:
    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        ended = {EOT: 0.0}
        return only({A: math.log(0.6), B: math.log(0.3), C: math.log(0.1)} if not sampled else ended)

    def texts(**options: Any) -> list[str]:
        result = decode(by_place(4, logits_at), beam_size=2, beam_groups=2, **options)
        return [hypothesis.text for hypothesis in result.hypotheses]

    assert texts(beam_diversity=0.0) == ["a"]
    assert texts(beam_diversity=1.0) == ["a", "b"]


def test_diversity_changes_the_choice_and_no_score() -> None:
    """Each sum is that of the tokens' own log-probabilities."""
    script = random_script(5, eot=-9.0)
    result = decode(script, beam_size=4, beam_groups=4, beam_diversity=3.0, sample_len=8)
    assert len(result.hypotheses) == 4
    for hypothesis in result.hypotheses:
        assert hypothesis.sum_logprob == pytest.approx(sum(hypothesis.token_logprobs))


def test_ends_of_all_beams_are_taken_however_unlikely() -> None:
    """The end lies outside the likeliest beam_size + 1 tokens of the row."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        words = {token: math.log(0.12) for token in (A, B, C, 100, 101, 102, 103, 104)}
        return only({**words, EOT: math.log(0.04)} if len(sampled) < 6 else {EOT: 0.0})

    script = by_place(4, logits_at)
    plain = decode(script, beam_size=3, beam_stop="bound", length_penalty=0.0)
    ends = decode(script, beam_size=3, beam_stop="bound", beam_ends="all", length_penalty=0.0)
    assert (len(plain.tokens), len(ends.tokens)) == (6, 0)
    assert ends.hypotheses[0].sum_logprob == pytest.approx(math.log(0.04))


def test_ends_among_the_top_leave_out_those_below_the_beams() -> None:
    """Filter-Ends: an end that no beam's place would have been given to is none."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        if not sampled:
            return only({A: math.log(0.5), EOT: math.log(0.3), B: math.log(0.2)})
        return only({EOT: 0.0})

    script = by_place(4, logits_at)
    seen, top = (decode(script, beam_size=1, patience=2.0, beam_ends=ends) for ends in ("seen", "top"))
    assert [h.text for h in seen.hypotheses] == [h.text for h in top.hypotheses] == ["a"]
    seen, top = (decode(script, beam_size=2, beam_ends=ends) for ends in ("seen", "top"))
    assert {h.text for h in seen.hypotheses} == {"", "a"}
    three = by_place(
        4, lambda _, s: only({A: math.log(0.5), B: math.log(0.3), EOT: math.log(0.2)} if not s else {EOT: 0.0})
    )
    assert {h.text for h in decode(three, beam_size=2, beam_ends="top").hypotheses} == {"a", "b"}


def test_look_ahead_lets_a_better_end_come_later() -> None:
    """A hypothesis that ends at once fills the pool; two steps later there is a far better one."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        if not sampled:
            return only({A: math.log(0.7), EOT: math.log(0.3)})
        return only({EOT: 0.0} if len(sampled) == 3 else {A: 0.0})

    script = by_place(4, logits_at)
    plain = decode(script, beam_size=1, patience=1.0)
    early = by_place(4, lambda a, s: only({EOT: math.log(0.51), A: math.log(0.49)}) if not s else logits_at(a, s))
    assert plain.text == "aaa"
    assert decode(early, beam_size=1).text == ""
    assert decode(early, beam_size=1, beam_lookahead=2).text == ""
    assert decode(early, beam_size=1, beam_lookahead=4).text == "aaa"


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_equals_single_windows_with_every_change(seed: int) -> None:
    decoder = decoder_of(random_script(seed, eot=0.5), n_text_ctx=40)
    requests = [
        (
            float(number % 3),
            DecodingOptions(language="en", beam_size=4, sample_len=9, loop_guard=seed % 2 == 0, **change),
        )
        for number, change in enumerate(CHANGES)
    ]
    alone = [outcome(decode_names(decoder, [name], options)[0]) for name, options in requests]
    together = decode_names(decoder, [name for name, _ in requests], [options for _, options in requests])
    assert [outcome(result) for result in together] == alone


@pytest.mark.parametrize("ends", ["seen", "all"])
def test_candidates_are_the_same_from_numpy_and_torch(ends: str) -> None:
    logits = np.random.default_rng(0).normal(size=(3, 700)).astype(np.float32)
    rules = BeamRules(beam_size=4, max_finished=4, n_steps=9, stop="estimate", ends=ends)
    decoder = ScoredBeamSearchDecoder(7, MaximumLikelihoodRanker(7), rules)
    from_numpy = decoder.propose(logits, SearchState())
    from_torch = decoder.propose(torch.from_numpy(logits), SearchState())
    assert from_numpy.tolist() == from_torch.tolist()
    assert from_numpy[:, :5].tolist() == top_k(logits, 5).tolist()
    assert from_numpy.shape == (3, 5 if ends == "seen" else 6)
    if ends == "all":
        assert from_numpy[:, -1].tolist() == [7, 7, 7]


def test_a_search_without_any_offer_ends() -> None:
    rules = BeamRules(beam_size=2, max_finished=2, n_steps=5)
    nothing = Candidates(np.zeros((1, 2), np.int64), np.full((1, 2), -np.inf), np.full((1, 2), -np.inf))
    state = ScoredBeamSearchDecoder(EOT, MaximumLikelihoodRanker(EOT), rules).advance(
        SearchState(beams=(Beam((A,)),)), nothing
    )
    assert state.is_done
    assert [(beam.tokens, beam.stop) for beam in state.beams] == [((A,), "dead")]
