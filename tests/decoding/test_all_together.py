"""All options at once: any mix of constraints, phrases, filters and searches, alone and in batches, with a trace."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import regex

from sasayaki.decoding.states import HypothesisStates
from sasayaki.errors import OptionError
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult, Hypothesis
from sasayaki.trace import Trace
from tests.decoding.scripts import N_VOCAB, SMALL_TOKENIZER, generator, mel, outcome
from tests.fakes import EOT, NO_TIMESTAMPS, SOT, TIMESTAMP_BEGIN, ScriptedInference

LETTERS = b" abcde.0"
GRAMMAR = r"[a-c ]+(\.|0)?"
DENY = "[d0]"
ALLOW = r"[ a-e.]"
NAMES = {"abc": 2.0, "Bad cab": 3.0, "dada": 1.0}


class NoTwins:
    """Bans a text token right behind itself, with a state for each hypothesis."""

    def __init__(self) -> None:
        self._last = HypothesisStates[int | None](None, lambda _, token: token if token < EOT else None)

    def apply(self, logits: Any, sampled: Sequence[tuple[int, ...]]) -> None:
        for row, last in enumerate(self._last.of(sampled)):
            if last is not None:
                logits[row, last] = -math.inf


class LikesA:
    """Prefers one letter."""

    def adjust(self, logprobs: Any, sampled: Sequence[tuple[int, ...]]) -> None:
        logprobs[:, ord("a")] += 0.5


def letters_script(seed: int) -> Any:
    """Random logits over a few letters, the end, languages and timestamps."""
    active = [*LETTERS, *range(EOT, N_VOCAB)]

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.full(N_VOCAB, -30.0, np.float32)
        logits[active] = generator(seed, audio, history).normal(scale=3.0, size=len(active))
        return logits

    return script


def any_options(draw: random.Random) -> DecodingOptions:
    """A valid mix of everything."""
    options: dict[str, Any] = {
        "language": draw.choice([None, "en", "de"]),
        "languages": draw.choice([None, "de,en", ["en", "de", "fr"]]),
        "task": draw.choice(["transcribe", "translate"]),
        "sample_len": draw.choice([None, 1, 6, 14]),
        "prompt": draw.choice([None, "abc", [97] * 30]),
        "prefix": draw.choice([None, None, "ab"]),
        "grammar": draw.choice([None, f"regex:{GRAMMAR}"]),
        "deny_tokens": draw.choice([None, DENY]),
        "allow_tokens": draw.choice([None, None, ALLOW]),
        "phrases": draw.choice([None, NAMES, {"cab": 0.0}]),
        "filters": draw.choice([(), [NoTwins()]]),
        "scorers": draw.choice([(), [LikesA()]]),
        "suppress_tokens": draw.choice([None, "-1", [101]]),
        "suppress_blank": draw.random() < 0.5,
        "without_timestamps": draw.random() < 0.5,
        "max_initial_timestamp": draw.choice([None, 0.0, 0.1]),
        "loop_guard": draw.random() < 0.5,
        "n_best": draw.choice([None, 1, 3]),
        "length_penalty": draw.choice([None, 0.0, 1.0]),
        "seed": draw.randrange(3),
    }
    return DecodingOptions(**options, **draw.choice([any_beams, any_samples])(draw))


def any_beams(draw: random.Random) -> dict[str, Any]:
    beam_size = draw.choice([None, 2, 4])
    if beam_size is None:
        return {}
    rules: dict[str, Any] = {"beam_size": beam_size, "patience": draw.choice([None, 0.5, 2.0])}
    if draw.random() < 0.5:
        rules |= {
            "beam_stop": draw.choice(["pool", "bound", "estimate"]),
            "beam_ends": draw.choice(["seen", "top"]),
            "beam_lookahead": draw.choice([0, 2]),
            "beam_groups": draw.choice([1, 2]),
        }
    return rules


def any_samples(draw: random.Random) -> dict[str, Any]:
    return {"temperature": draw.choice([0.5, 1.5]), "best_of": draw.choice([None, 1, 3])}


def model_of(seed: int) -> Whisper:
    return Whisper(
        ScriptedInference(letters_script(seed), n_vocab=N_VOCAB, n_text_ctx=40), SMALL_TOKENIZER, suppress=()
    )


@pytest.mark.parametrize("case", range(60))
def test_any_mix_of_options_holds_alone_in_a_batch_and_with_a_trace(case: int) -> None:
    """B163, B167: what one window asks for is of no account to its neighbours."""
    draw, model = random.Random(case), model_of(case)
    requests = [(float(draw.randrange(3)), any_options(draw)) for _ in range(4)]
    possible = [(name, options, result) for name, options in requests if (result := alone(model, name, options))]
    names, options, expected = zip(*possible, strict=True) if possible else ((), (), ())
    for name, each, result in possible:
        check(result, each)
        traced = model.decode(mel(name), each, trace=Trace())
        assert isinstance(traced, DecodingResult)
        assert outcome(traced) == outcome(result)
    if possible:
        together = model.decode(np.stack([mel(name) for name in names]), options)
        assert [outcome(result) for result in together] == [outcome(result) for result in expected]


def alone(model: Whisper, name: float, options: DecodingOptions) -> DecodingResult | None:
    try:
        result = model.decode(mel(name), options)
    except OptionError as error:
        if "no token is left" in str(error) or "forbids every token" in str(error):
            return None
        raise
    assert isinstance(result, DecodingResult)
    return result


def check(result: DecodingResult, options: DecodingOptions) -> None:
    """What every mix of options promises."""
    assert options.languages is None or result.language in options.languages
    assert options.language is None or result.language == options.language
    assert result.hypotheses
    assert options.n_best is None or len(result.hypotheses) <= options.n_best
    scores = [each.score for each in result.hypotheses]
    assert scores == sorted(scores, reverse=True)
    for hypothesis in result.hypotheses:
        check_hypothesis(hypothesis, options)


def check_hypothesis(hypothesis: Hypothesis, options: DecodingOptions) -> None:
    tokens = hypothesis.tokens
    said = bytes(token for token in tokens if token < EOT).decode()
    assert not [token for token in tokens if SOT <= token < NO_TIMESTAMPS]
    assert math.isfinite(hypothesis.score)
    assert math.isfinite(hypothesis.sum_logprob)
    if options.deny_tokens:
        assert not regex.search(DENY, said)
    if options.allow_tokens:
        assert regex.fullmatch(f"{ALLOW}*", said)
    if options.grammar:
        whole = regex.fullmatch(f" ?{GRAMMAR}", said, partial=hypothesis.stop != "eot")
        assert whole, said
    if options.filters:
        assert not [token for token, after in pairwise(tokens) if token == after < EOT]
    if options.suppress_tokens == (101,):
        assert "e" not in said
    times = [token for token in tokens if token >= TIMESTAMP_BEGIN]
    if not options.without_timestamps:
        assert times == sorted(times)
        assert not tokens or tokens[0] >= TIMESTAMP_BEGIN
    elif options.grammar:
        assert not times


@pytest.mark.parametrize("case", range(20))
def test_what_windows_share_keeps_nothing_of_one_for_the_next(case: int) -> None:
    """Filters and scorers with state, in any order of windows."""
    draw, model = random.Random(1000 + case), model_of(case)
    shared = replace(any_options(draw), suppress_tokens=None, filters=[NoTwins()], scorers=[LikesA()])
    names = [float(draw.randrange(4)) for _ in range(5)]
    first = {name: alone(model, name, shared) for name in names}
    for name in reversed(names):
        again, before = alone(model, name, shared), first[name]
        assert (again and outcome(again)) == (before and outcome(before))
