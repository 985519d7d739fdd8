"""Greedy decoding and sampling: seeds, frequencies, and numbers at the edges."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding.greedy import GreedyDecoder, _sample
from sasayaki.decoding.search import Beam, SearchState
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from tests.decoding.scripts import by_place, decode_names, decode_one, decoder_of, mel, outcome, random_script
from tests.fakes import EOT, N_VOCAB, ScriptedInference, byte_tokenizer, text

BARE = {"without_timestamps": True, "suppress_blank": False, "suppress_tokens": ""}
KINDS = pytest.mark.parametrize("make", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


def only(tokens: tuple[int, ...], logits: tuple[float, ...]) -> np.ndarray:
    made = np.full(N_VOCAB, -np.inf, np.float32)
    made[list(tokens)] = logits
    return made


def sampled_pairs(temperature: float, seed: int, n: int) -> list[tuple[int, ...]]:
    first, second = only(text("abcd"), (0.0, 1.0, -1.0, 0.5)), only(text("xy"), (0.0, 0.7))
    script = by_place(4, lambda _, sampled: second if sampled else first)
    result = decode_one(script, temperature=temperature, best_of=n, seed=seed, sample_len=2, **BARE)
    return [hypothesis.tokens for hypothesis in result.hypotheses]


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_their_probability_says(temperature: float) -> None:
    """Chi-square over the eight pairs of tokens: a bias, or two steps that hang together, would show."""
    n = 1500
    found = Counter(sampled_pairs(temperature, seed=7, n=n))
    first, second = np.exp(np.array([0.0, 1.0, -1.0, 0.5]) / temperature), np.exp(np.array([0.0, 0.7]) / temperature)
    expected = n * np.outer(first / first.sum(), second / second.sum())
    counts = np.array([[found[a, b] for b in text("xy")] for a in text("abcd")])
    assert counts.sum() == n
    assert ((counts - expected) ** 2 / expected).sum() < 24.3  # 0.1 % of correct samplers are above this


def test_log_probabilities_are_those_of_temperature_one() -> None:
    script = by_place(4, lambda _, sampled: only(text("ab"), (0.0, 1.0)))
    for temperature in (0.3, 3.0):
        result = decode_one(script, temperature=temperature, best_of=8, sample_len=1, **BARE)
        for hypothesis in result.hypotheses:
            raw = 1.0 if hypothesis.text == "b" else 0.0
            assert hypothesis.token_logprobs == pytest.approx([raw - np.log(1 + np.e)])


def whisper(script_seed: int = 5) -> Whisper:
    script = random_script(script_seed, n_vocab=N_VOCAB)
    return Whisper(ScriptedInference(script), byte_tokenizer(), suppress=())


SAMPLING = {"language": "en", "temperature": 0.8, "best_of": 3, "sample_len": 15}


def test_a_seed_gives_the_same_text_whatever_was_decoded_before() -> None:
    """B22: the generator was seeded once in a process, so that text depended on the number of earlier calls."""
    model = whisper()
    first = [outcome(model.decode(mel(1.0), seed=1, **SAMPLING)) for _ in range(4)]
    np.random.default_rng(0).random(10)
    model.decode(mel(2.0), seed=2, **SAMPLING)
    fresh = outcome(whisper().decode(mel(1.0), seed=1, **SAMPLING))
    assert all(one == fresh for one in first)


def test_another_seed_gives_another_text_and_no_seed_a_new_one_each_time() -> None:
    """B22: setting the seed had no effect."""
    model = whisper()
    texts = {outcome(model.decode(mel(1.0), seed=seed, **SAMPLING)) for seed in range(8)}
    assert len(texts) == 8
    # Two of them may be equal by chance, all of them hardly.
    assert len({outcome(model.decode(mel(1.0), seed=None, **SAMPLING)) for _ in range(4)}) > 1


def test_a_seed_gives_the_same_text_while_others_decode_beside_it() -> None:
    """B22: in one batch, in any order, and in threads."""
    model = whisper()
    alone = {name: outcome(model.decode(mel(name), seed=1, **SAMPLING)) for name in (1.0, 2.0, 3.0)}
    for names in [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (1.0, 1.0)]:
        together = model.decode(mel(*names), seed=1, **SAMPLING)
        assert [outcome(result) for result in together] == [alone[name] for name in names]
    with ThreadPoolExecutor(4) as pool:
        names = [1.0, 2.0, 3.0] * 4
        results = pool.map(lambda name: outcome(model.decode(mel(name), seed=1, **SAMPLING)), names)
        assert list(results) == [alone[name] for name in names]


def test_draws_depend_on_seed_sample_and_position_alone() -> None:
    """So the first samples of five are those of two, however long they may become."""
    script = random_script(9, n_vocab=N_VOCAB)
    two = decode_one(script, temperature=1.0, best_of=2, sample_len=6)
    five = decode_one(script, temperature=1.0, best_of=5, sample_len=12)
    heads = {h.tokens[:6] for h in five.hypotheses}
    assert {h.tokens for h in two.hypotheses} <= heads


@pytest.mark.parametrize("temperature", [5e-324, 1e-45, 1e-30, 1e-4])
def test_a_tiny_temperature_takes_the_likeliest(temperature: float) -> None:
    script = random_script(4, n_vocab=N_VOCAB)
    cold, greedy = decode_one(script, temperature=temperature, sample_len=20), decode_one(script, sample_len=20)
    assert cold.tokens == greedy.tokens
    assert cold.avg_logprob == pytest.approx(greedy.avg_logprob)


def test_a_huge_temperature_samples_banned_tokens_never() -> None:
    result = decode_one(random_script(4, n_vocab=N_VOCAB), temperature=1e300, best_of=20, sample_len=20)
    for hypothesis in result.hypotheses:
        assert all(token <= EOT or token > EOT + 12 for token in hypothesis.tokens)


@KINDS
def test_draws_at_the_edges_stay_inside(make: Any) -> None:
    logits = make(np.array([[-np.inf, 0, -np.inf, 0, -np.inf]], np.float32))
    draws = np.array([[0.0, 0.25, 0.4999, 0.5, 0.75, np.nextafter(1.0, 0.0)]])
    picked = np.asarray(_sample(logits, 1.0, draws))
    assert picked.tolist() == [[1, 1, 1, 3, 3, 3]]


@KINDS
def test_every_row_is_drawn_from_its_own_distribution(make: Any) -> None:
    logits = make(np.array([[0, 5, -np.inf], [-np.inf, -np.inf, 3]], np.float32))
    assert np.asarray(_sample(logits, 0.5, np.array([[0.9], [0.1]]))).tolist() == [[1], [2]]


def test_ties_go_to_the_first_token() -> None:
    state = SearchState(beams=(Beam(),))
    greedy = GreedyDecoder(EOT, temperature=0.0, n_group=1, seed=0, n_steps=3)
    assert greedy.propose(np.array([[1.0, 3.0, 3.0]], np.float32), state).tolist() == [[1]]


def test_samples_that_end_early_leave_and_are_kept() -> None:
    script = random_script(2, n_vocab=N_VOCAB, eot=2.0)
    decoder = decoder_of(script, tokenizer=byte_tokenizer())
    options = DecodingOptions(**{**SAMPLING, "best_of": 10, "sample_len": 40})
    result = decode_names(decoder, [0.0], options)[0]
    sizes = [len(call.rows) for call in decoder.inference.calls]
    assert sizes[0] == 1, "all samples share the first row"
    assert sizes[1:] == sorted(sizes[1:], reverse=True)
    assert len(result.hypotheses) == 10
    assert len({len(h.tokens) for h in result.hypotheses}) > 1


def test_samples_are_handed_over_in_the_order_of_their_numbers() -> None:
    greedy = GreedyDecoder(EOT, temperature=1.0, n_group=3, seed=0, n_steps=3)
    beams = {slot: Beam((slot,), slot=slot) for slot in range(3)}
    state = SearchState(beams=(beams[1],), finished=(beams[2], beams[0]))
    assert [beam.slot for beam in greedy.finish(state)] == [0, 1, 2]
