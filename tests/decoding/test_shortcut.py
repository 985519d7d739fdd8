"""The shortcut against the filters applied to all logits, and where it gives up."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sasayaki.decoding.arrays import take_columns, top_k
from sasayaki.decoding.filters.chain import build_filters
from sasayaki.decoding.shortcut import Likeliest, Shortcut, likeliest_of
from sasayaki.inference.base import Digest
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer
from tests.decoding.scripts import SMALL_TOKENIZER, decode_names, decoder_of, random_script
from tests.fakes import digest_of

LARGE = Tokenizer.for_vocab(51865).with_language("en", "transcribe")
OPTIONS = DecodingOptions(language="en")


def shortcut(tokenizer: Tokenizer, n_candidate: int | None = 6, options: DecodingOptions = OPTIONS) -> Shortcut | None:
    n_vocab = tokenizer.special.n_vocab
    return Shortcut.of(build_filters(options, tokenizer, n_vocab, None), tokenizer, n_candidate, n_vocab)


def likeliest(logits: np.ndarray, sampled: list[tuple[int, ...]], digest: Digest, n_candidate: int) -> Likeliest | None:
    (found,) = likeliest_of([shortcut(LARGE, n_candidate)], logits, digest, [sampled])
    return found


def by_filters(logits: np.ndarray, sampled: list[tuple[int, ...]], n_candidate: int) -> Likeliest:
    left = logits[:, -1].copy()
    for logit_filter in build_filters(OPTIONS, LARGE, left.shape[1], None):
        logit_filter.apply(left, sampled)
    tokens = top_k(left, n_candidate)
    before, after = (np.log(np.exp(x.astype(np.float64)).sum(-1)) for x in (logits[:, -1], left))
    return Likeliest(tokens, take_columns(left, tokens), after, before, np.full(len(left), True))


def speech(draw: random.Random, n_batch: int) -> np.ndarray:
    """Logits (n_batch, 1, n_vocab): some likely words, timestamps, suppressed tokens and ends."""
    rng = np.random.default_rng(draw.randrange(1 << 30))
    logits = rng.normal(-5, 2, (n_batch, 1, 51865)).astype(np.float32)
    for row in logits[:, 0]:
        row[rng.choice(50000, 30)] += rng.uniform(5, 20, 30)
        row[rng.choice(np.flatnonzero(np.arange(51865) >= LARGE.timestamp_begin), 20)] += draw.choice([0, 5, 12, 20])
        row[list(LARGE.non_speech_tokens)[:20]] += draw.choice([0, 5, 12])
        row[LARGE.eot] += draw.choice([0, 10, 18])
    return logits.round(draw.choice([1, 6]))  # at times with equals


def history(draw: random.Random) -> tuple[int, ...]:
    begin = LARGE.timestamp_begin
    first = begin + draw.randrange(20)
    words = tuple(draw.randrange(50000) for _ in range(draw.randrange(1, 4)))
    last = first + draw.randrange(1, 1400)
    return draw.choice([(first,), (first, *words), (first, *words, last), (first, *words, last, last)])


@pytest.mark.parametrize("n_candidate", [1, 6])
def test_it_finds_what_the_filters_leave(n_candidate: int) -> None:
    n_found = 0
    for case in range(30):
        draw = random.Random(case)
        logits = speech(draw, 3)
        sampled = [history(draw) for _ in range(3)]
        found = likeliest(logits, sampled, digest_of(logits), n_candidate)
        if found is None:
            continue
        n_found += 1
        expected = by_filters(logits, sampled, n_candidate)
        assert found.tokens.tolist() == expected.tokens.tolist(), case
        assert found.logits.tolist() == expected.logits.tolist(), case
        assert found.norms == pytest.approx(expected.norms, abs=3e-6), case
        assert found.raw_norms == pytest.approx(expected.raw_norms, abs=3e-6), case
    assert n_found > 15


def test_the_first_token_is_a_timestamp_in_time() -> None:
    logits = speech(random.Random(0), 1)
    logits[0, 0, LARGE.timestamp_begin : LARGE.timestamp_begin + 200] += 30
    found, expected = likeliest(logits, [()], digest_of(logits, 250), 6), by_filters(logits, [()], 6)
    assert found
    assert found.tokens.tolist() == expected.tokens.tolist()
    assert found.norms == pytest.approx(expected.norms, abs=3e-6)


def test_it_gives_up_when_the_likeliest_are_too_few() -> None:
    logits = speech(random.Random(1), 1)
    sampled = [(LARGE.timestamp_begin, 400)]
    assert likeliest(logits, sampled, digest_of(logits), 6)
    assert likeliest(logits, sampled, digest_of(logits, 6), 6) is None


def test_it_gives_up_when_filters_take_nearly_everything() -> None:
    """What is left of a sum would have few digits."""
    logits = speech(random.Random(2), 1)
    logits[0, 0, list(LARGE.non_speech_tokens)[:2]] = 60
    assert likeliest(logits, [(LARGE.timestamp_begin, 400)], digest_of(logits), 6) is None


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_it_leaves_what_is_not_a_number_to_those_who_report_it(value: float) -> None:
    logits = speech(random.Random(3), 2)
    logits[1, 0, 7] = value
    with np.errstate(all="ignore"):
        digest = digest_of(logits)
    assert likeliest(logits, [(LARGE.timestamp_begin, 400)] * 2, digest, 6) is None


@pytest.mark.parametrize(
    "options",
    [
        {"without_timestamps": True},
        {"deny_tokens": "[0-9]"},
        {"suppress_tokens": (51000,)},
    ],
    ids=["no timestamps", "patterns", "a suppressed timestamp"],
)
def test_there_is_none_for_other_filters(options: dict[str, object]) -> None:
    assert shortcut(LARGE)
    assert shortcut(LARGE, options=replace(OPTIONS, **options)) is None  # type: ignore[arg-type]


def test_there_is_none_for_a_search_that_looks_at_all_tokens() -> None:
    assert shortcut(LARGE, None) is None


def test_decodes_are_looked_at_together_and_given_up_alone() -> None:
    logits = speech(random.Random(4), 5)
    logits[2, 0, list(LARGE.non_speech_tokens)[:2]] = 60
    history = (LARGE.timestamp_begin, 400)
    shortcuts = [shortcut(LARGE), shortcut(LARGE.with_language("de", "translate")), None, shortcut(LARGE, 1)]
    assert shortcuts[0] == shortcuts[1] != shortcuts[3]
    sampled = [[history] * 2, [history], [history], [history]]
    found = likeliest_of(shortcuts, logits, digest_of(logits), sampled)
    assert [likeliest is None for likeliest in found] == [False, True, True, False]
    assert found[0]
    assert found[3]
    assert found[0].tokens.tolist() == by_filters(logits[:2], sampled[0], 6).tokens.tolist()
    assert found[3].tokens.tolist() == by_filters(logits[4:], sampled[3], 1).tokens.tolist()


@pytest.mark.parametrize("beam_size", [None, 1, 3, 5])
def test_decodes_are_the_same_with_and_without_digests(beam_size: int | None) -> None:
    options = DecodingOptions(language="en", beam_size=beam_size, sample_len=20)
    for case in range(20):
        script = random_script(case, peak=case % 3 * 4.0)
        expected, found = (
            decode_names(decoder_of(script, tokenizer=SMALL_TOKENIZER, n_likeliest=n), [0.0], options)[0]
            for n in (0, 120)
        )
        assert [h.tokens for h in found.hypotheses] == [h.tokens for h in expected.hypotheses]
        assert [h.sum_logprob for h in found.hypotheses] == pytest.approx(
            [h.sum_logprob for h in expected.hypotheses], abs=1e-5
        )
