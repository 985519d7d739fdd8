"""DecodingTask and the loop that drives tasks: limits, faults of the engine, tasks that come and go."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding.pool import run_tasks
from sasayaki.decoding.task import DecodingTask, compression_ratio
from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import Row
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
    outcome,
    random_options,
    random_script,
    scripted,
)
from tests.fakes import (
    EOT,
    NO_SPEECH,
    SOT,
    TIMESTAMP_BEGIN,
    FakeAudio,
    ScriptedInference,
    ScriptedSession,
    byte_tokenizer,
    one_hot,
    say,
    text,
    ts,
)
from tests.fakes import N_VOCAB as N_LARGE

A = text("a")[0]


@pytest.mark.parametrize("without_timestamps", [False, True])
@pytest.mark.parametrize("beam_size", [None, 3])
def test_a_decode_that_never_ends_stops_at_the_limit(without_timestamps: bool, beam_size: int | None) -> None:
    """B12: decoding ran past the last position; the scripted session refuses a row that does."""
    endless = by_place(3, lambda _, sampled: one_hot(A if sampled else ts(0)))
    prompts: list[list[int] | None] = [None, [65] * 223, [65] * 300]
    for prompt, sample_len in itertools.product(prompts, [None, 224, 448]):
        decoder = decoder_of(endless, tokenizer=byte_tokenizer())
        options = DecodingOptions(
            language="en",
            prompt=prompt,
            sample_len=sample_len,
            without_timestamps=without_timestamps,
            beam_size=beam_size,
            suppress_tokens=[EOT],
        )
        result = decode_names(decoder, [0.0], options)[0]
        n_initial = len(scripted(decoder).calls[0].histories[0])
        assert max(len(h) for call in scripted(decoder).calls for h in call.histories) <= 448
        assert len(result.tokens) == min(sample_len or 224, 449 - n_initial)
        assert result.hypotheses[0].stop == "length"


def test_dense_scripts_are_cut_between_characters() -> None:
    """B14: the text ended in half a character at the default length; with more room it is whole."""
    spoken = "ა" * 100
    script = say(text(spoken), n_initial=4)
    assert decode_one(script, without_timestamps=True, sample_len=400).text == spoken
    cut = decode_one(script, without_timestamps=True)
    assert len(cut.tokens) == 224
    assert cut.text == "ა" * 74


@pytest.mark.parametrize("options", [{}, {"beam_size": 5}, {"temperature": 0.7, "best_of": 3}])
@pytest.mark.parametrize("prompt", [None, "before"])
def test_no_speech_is_a_probability_before_the_filters(options: dict[str, Any], prompt: str | None) -> None:
    """B21: it was 0 after the ban of the token, or above 1."""
    raw = generator("no speech").normal(scale=3, size=N_LARGE).astype(np.float32)

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        return raw if history[-1] == SOT else one_hot(EOT)

    result = decode_one(script, suppress_tokens=[NO_SPEECH], prompt=prompt, **options)
    assert result.no_speech_prob == pytest.approx(float(np.exp(raw[NO_SPEECH]) / np.exp(raw).sum()), rel=1e-5)
    assert 0 <= result.no_speech_prob <= 1


def test_the_result_tells_what_was_sampled_and_why_it_ended() -> None:
    result = decode_one(say([ts(0), *text(" hello "), ts(1)]), suppress_tokens="")
    assert result.tokens == (ts(0), *text(" hello "), ts(1))
    assert result.text == "hello"
    assert result.compression_ratio == compression_ratio("hello")
    assert result.temperature == 0.0
    assert result.audio_features.shape == (1500, 8)
    best = result.hypotheses[0]
    assert best.stop == "eot"
    assert best.avg_logprob == result.avg_logprob == pytest.approx(best.sum_logprob / 10)
    assert len(best.token_logprobs) == len(best.token_raw_logprobs) == 9


def test_repetitive_text_compresses_well() -> None:
    assert compression_ratio("") == 0.0
    assert compression_ratio("la " * 100) > 10 > compression_ratio("what is said once") > 0


# Faults


class Interrupt(KeyboardInterrupt):
    """A Ctrl-C of the test."""


@pytest.mark.parametrize("error", [RuntimeError, Interrupt, MemoryError, GeneratorExit])
@pytest.mark.parametrize("language", ["en", None])
@pytest.mark.parametrize("at_call", [1, 2, 4])
def test_the_session_is_closed_whatever_is_raised(
    error: type[BaseException], language: str | None, at_call: int
) -> None:
    calls = itertools.count(1)

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        if next(calls) == at_call:
            raise error
        return one_hot(A, n_vocab=N_VOCAB)

    decoder = decoder_of(script)
    with pytest.raises(error):
        decode_names(decoder, [0.0], DecodingOptions(language=language))
    assert scripted(decoder).n_open == 0


def test_options_that_forbid_every_token_are_named() -> None:
    with pytest.raises(OptionError, match="suppress_tokens"):
        decode_one(say([]), suppress_tokens=list(range(N_LARGE)))


@pytest.mark.parametrize("fault", [math.nan, math.inf])
@pytest.mark.parametrize("token", [A, EOT, SOT, TIMESTAMP_BEGIN - 1, TIMESTAMP_BEGIN + 1])
@pytest.mark.parametrize("n_fed", [1, 3, 5])
@pytest.mark.parametrize("options", [{}, {"beam_size": 2}, {"temperature": 0.5, "best_of": 2}])
def test_a_logit_that_is_no_number_is_refused(fault: float, token: int, n_fed: int, options: dict[str, Any]) -> None:
    """Also when a filter bans that token: what an engine gives beside a NaN cannot be trusted."""

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = one_hot({3: ts(0)}.get(len(history), A))
        if len(history) == n_fed:
            logits[token] = fault
        return logits

    if n_fed == 1 and fault == math.inf:
        return  # at the start position only the no-speech probability is read, and that is 0
    decoder = decoder_of(script, tokenizer=byte_tokenizer())
    with pytest.raises(BackendError, match="NaN"):
        decode_names(decoder, [0.0], DecodingOptions(language="en", **options))
    assert scripted(decoder).n_open == 0


def wild_script(case: int, *, is_finite: bool) -> Any:
    """Logits with values at the ends of float32 strewn in, and others that are no numbers."""
    plain = random_script(case)
    wild = [3.3e38, -3.3e38, 1e-45, 0.0, -math.inf, *(() if is_finite else (math.nan, math.inf))]

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        draw, logits = generator("wild", case, audio, history), plain(audio, history).copy()
        for _ in range(draw.integers(0, 40)):
            logits[draw.integers(N_VOCAB)] = draw.choice(wild)
        return logits

    return script


@pytest.mark.parametrize("case", range(60))
def test_the_decoder_survives_any_logits_with_any_options(case: int) -> None:
    draw = random.Random(case)
    n_text_ctx = draw.choice([16, 30])
    options = random_options(draw, n_text_ctx=n_text_ctx)
    if options.beam_size is None:
        temperature = draw.choice([0.0, 1e-30, 1.0, 50.0])
        options = replace(options, temperature=temperature, best_of=draw.choice([None, 3]) if temperature else None)
    decoder = decoder_of(wild_script(case, is_finite=case % 3 != 0), n_text_ctx=n_text_ctx)
    try:
        result = decode_names(decoder, [0.0], options)[0]
    except (BackendError, OptionError) as error:
        refusal = str(error)
    else:
        check_result(result, options)
        return
    assert "no token is left" in refusal or (case % 3 == 0 and "NaN" in refusal)


def check_result(result: DecodingResult, options: DecodingOptions) -> None:
    control = set(range(SOT, TIMESTAMP_BEGIN - 1))
    for hypothesis in result.hypotheses:
        assert math.isfinite(hypothesis.sum_logprob)
        assert math.isfinite(hypothesis.score)
        assert EOT not in hypothesis.tokens
        assert not control & set(hypothesis.tokens)
        if not options.without_timestamps:
            times = [token for token in hypothesis.tokens if token >= TIMESTAMP_BEGIN]
            assert times == sorted(times)
            assert not hypothesis.tokens or hypothesis.tokens[0] >= TIMESTAMP_BEGIN
    scores = [hypothesis.score for hypothesis in result.hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= result.no_speech_prob <= 1


# The other array type


class TorchSession(ScriptedSession):
    """Answers in torch tensors."""

    def forward(self, rows: Sequence[Row]) -> Any:
        return torch.as_tensor(super().forward(rows))


class TorchScripted(ScriptedInference):
    """A scripted engine of the other array type."""

    def start(self) -> ScriptedSession:
        self.n_open += 1
        return TorchSession(self)


@pytest.mark.parametrize("case", range(40))
def test_torch_logits_decode_as_numpy_logits_do(case: int) -> None:
    draw = random.Random(1000 + case)
    options = random_options(draw, n_text_ctx=32)
    if options.beam_size is None and case % 2:
        options = replace(options, temperature=0.9, best_of=3)
    script = random_script(case)
    decoder = decoder_of(script, n_text_ctx=32)
    other = replace(decoder, inference=TorchScripted(script, n_text_ctx=32, n_vocab=N_VOCAB))
    try:
        expected = decode_names(decoder, [0.0, 1.0], options)
    except OptionError:
        with pytest.raises(OptionError):
            decode_names(other, [0.0, 1.0], options)
        return
    for got, want in zip(decode_names(other, [0.0, 1.0], options), expected, strict=True):
        assert [h.tokens for h in got.hypotheses] == [h.tokens for h in want.hypotheses]
        assert [h.sum_logprob for h in got.hypotheses] == pytest.approx(
            [h.sum_logprob for h in want.hypotheses], abs=1e-4
        )
        assert got.no_speech_prob == pytest.approx(want.no_speech_prob, abs=1e-6)


# Tasks that come and go


def task_of(name: object, options: DecodingOptions) -> DecodingTask:
    tokenizer = SMALL_TOKENIZER.with_language(options.language, options.task)
    return DecodingTask(FakeAudio(name), tokenizer, options, n_text_ctx=40, n_vocab=N_VOCAB)


def run_arrivals(
    inference: ScriptedInference, arrivals: dict[int, list[DecodingTask]], cancelled: dict[int, DecodingTask]
) -> dict[DecodingTask, DecodingResult]:
    """A driver that lets tasks join and leave between any two steps, as a server would."""
    session, results = inference.start(), {}
    living: list[tuple[DecodingTask, list[Row]]] = []
    for step in itertools.count():
        living = [(task, rows) for task, rows in living if task is not cancelled.get(step)]
        living += [(task, task.start()) for task in arrivals.get(step, [])]
        if not living:
            if step > max(arrivals):
                break
            session.close()
            session = inference.start()
            continue
        logits = session.forward([row for _, rows in living for row in rows])
        offsets = itertools.accumulate((len(rows) for _, rows in living), initial=0)
        stepped = []
        for (task, rows), offset in zip(living, offsets, strict=False):
            after = task.advance(task.propose(logits[offset : offset + len(rows)]))
            if after:
                stepped.append((task, [replace(row, source=offset + row.source) for row in after]))
            else:
                results[task] = task.finish()
        living = stepped
    session.close()
    return results


@pytest.mark.parametrize("order", range(50))
def test_tasks_that_join_and_leave_at_any_step_decode_as_they_do_alone(order: int) -> None:
    """B167: a request took over the history or the filters of the one whose place it got."""
    draw = random.Random(order)
    script = random_script(11)
    inference = ScriptedInference(script, n_text_ctx=40, n_vocab=N_VOCAB)
    requests = []
    for name in range(6):
        options = replace(random_options(draw, n_text_ctx=40), language="en", suppress_tokens="-1")
        requests.append((float(name), options))
    alone = [outcome(run_tasks(inference, [task_of(*request)])[0]) for request in requests]
    tasks = [task_of(*request) for request in requests]
    arrivals: dict[int, list[DecodingTask]] = {}
    for task in tasks:
        arrivals.setdefault(draw.randrange(12), []).append(task)
    dropped = draw.choice(tasks)
    results = run_arrivals(inference, arrivals, {draw.randrange(14): dropped})
    assert set(tasks) - set(results) <= {dropped}
    for task, expected in zip(tasks, alone, strict=True):
        if task in results:
            assert outcome(results[task]) == expected
    assert inference.n_open == 0


def test_no_tasks_give_no_results() -> None:
    inference = ScriptedInference(say([]))
    assert run_tasks(inference, []) == []
    assert inference.n_open == 0
