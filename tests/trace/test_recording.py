"""What a trace records of decodes and transcriptions, and that recording changes nothing."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki.decoding import recorder, stages, task
from sasayaki.decoding.stages import N_CANDIDATES
from sasayaki.model import Whisper
from sasayaki.results import Segment, Word
from sasayaki.trace import (
    AttentionMap,
    DecodeFinished,
    DecodeStarted,
    DecodeStep,
    Trace,
    TranscriptionStarted,
    WindowWord,
)
from sasayaki.transcribe import tracing
from sasayaki.transcribe import window as decoding_of_windows
from sasayaki.transcribe.segments import make_segments
from tests.decoding.scripts import mel, outcome
from tests.fakes import EOT, SOT, TIMESTAMP_BEGIN, TRANSCRIBE, ScriptedInference, byte_tokenizer, one_hot, say, text, ts
from tests.trace.examples import random_model, trace_of, watched_model

OPTIONS: list[dict[str, Any]] = [
    {},
    {"beam_size": 3},
    {"beam_size": 5, "patience": 2.0, "length_penalty": 0.5},
    {"temperature": 0.7, "best_of": 3},
    {"beam_size": 2, "without_timestamps": True, "suppress_blank": False, "suppress_tokens": ""},
    {"prompt": "hello", "prefix": "on", "beam_size": 2},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_results_are_the_same_with_and_without_a_trace(options: dict[str, Any], seed: int) -> None:
    plain = random_model(seed).decode(mel(0.0, 1.0), language="en", sample_len=8, **options)
    trace = Trace()
    traced = random_model(seed).decode(mel(0.0, 1.0), language="en", sample_len=8, trace=trace, **options)
    assert isinstance(plain, list)
    assert isinstance(traced, list)
    assert [outcome(result) for result in traced] == [outcome(result) for result in plain]
    assert len(trace.decodes()) == 2


def test_transcriptions_are_the_same_with_and_without_a_trace() -> None:
    audio = np.zeros(16_000 * 70, np.float32)
    plain = random_model(eot=2.0).transcribe(audio, language="en", sample_len=12)
    assert random_model(eot=2.0).transcribe(audio, language="en", sample_len=12, trace=Trace()) == plain


def test_nothing_of_the_recorder_runs_without_a_trace() -> None:
    """`benchmarks/trace_off.py` measures what is left."""
    run: set[str] = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: run.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        random_model().decode(mel(0.0), language="en", beam_size=3)
        random_model(eot=2.0).transcribe(np.zeros(16_000, np.float32), language="en", sample_len=4)
    finally:
        sys.setprofile(before)
    assert task.__file__ in run
    assert not run & {module.__file__ for module in (recorder, stages, tracing)}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_winner_can_be_followed_through_the_steps(options: dict[str, Any], seed: int) -> None:
    """Rows are the living of the step before, and hypotheses that ended by themselves are among the finished."""
    (decode,) = trace_of(random_model(seed), **options).decodes()
    assert decode.finished is not None
    ended: list[tuple[int, ...]] = []
    for step, following in zip(decode.steps, [*decode.steps[1:], None], strict=True):
        grown = [(*step.rows[one.row].tokens, one.token) for one in step.living]
        if following is not None:
            assert [row.tokens for row in following.rows] == grown
        ended += [step.rows[one.row].tokens for one in step.finished if one.stop == "eot"]
    for hypothesis in decode.finished.hypotheses:
        assert (hypothesis.tokens in ended) == (hypothesis.stop == "eot")


@pytest.mark.parametrize(
    "options", [{}, {"beam_size": 4}, {"temperature": 0.8, "best_of": 3}, {"temperature": 0.01, "best_of": 4}], ids=str
)
@pytest.mark.parametrize("seed", range(5))
def test_the_winning_path_goes_from_row_to_offspring(seed: int, options: dict[str, Any]) -> None:
    """Also where several samples say the same, so that rows cannot be told apart by their tokens."""
    (decode,) = trace_of(random_model(seed), **options).decodes()
    assert decode.finished is not None
    way = decode.finished.hypotheses[0].sampled(decode.started.eot)
    path = decode.winning_rows()
    assert len(path) == len(way)
    for place, row in enumerate(path):
        assert decode.steps[place].rows[row].tokens == way[:place]
        if place + 1 < len(path):
            offspring = decode.steps[place].living[path[place + 1]]
            assert (offspring.row, offspring.token) == (row, way[place])


def test_a_result_that_the_steps_do_not_lead_to_has_no_path() -> None:
    (decode,) = trace_of(random_model()).decodes()
    assert decode.finished is not None
    assert replace(decode, finished=None).winning_rows() == []
    assert replace(decode, finished=replace(decode.finished, hypotheses=())).winning_rows() == []
    assert replace(decode, steps=decode.steps[:2]).winning_rows() == []
    empty = replace(decode.finished.hypotheses[0], tokens=(), stop="length")
    assert replace(decode, finished=replace(decode.finished, hypotheses=(empty,))).winning_rows() == []


def test_a_decode_begins_with_its_options_and_initial_tokens() -> None:
    (started,) = trace_of(random_model(), beam_size=2).of(DecodeStarted)
    assert started.initial_tokens[0] == SOT
    assert started.initial_tokens[-1] == TRANSCRIBE
    assert started.initial_text == "<|startoftranscript|><|en|><|transcribe|>"
    assert started.stages == ("SuppressBlank", "SuppressTokens", "ApplyTimestampRules")
    assert started.options["beam_size"] == 2
    assert (started.window, started.language) == (None, "en")


def test_language_probabilities_are_recorded_when_the_language_was_detected() -> None:
    (started,) = trace_of(random_model(), language=None).of(DecodeStarted)
    assert started.language_probs is not None
    assert sum(started.language_probs.values()) == pytest.approx(1)


def test_candidates_have_a_log_probability_before_and_after_each_filter() -> None:
    """The first step: the end token is likeliest, then banned by the first filter; text goes with the last one."""

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.full(TIMESTAMP_BEGIN + 1501, -50.0, np.float32)
        logits[[EOT, ord("a"), ts(0.0)]] = np.log([0.5, 0.3, 0.2])
        return logits

    model = Whisper(ScriptedInference(script), byte_tokenizer())
    step = trace_of(model, sample_len=1).of(DecodeStep)[0]
    (row,) = step.rows
    found = {candidate.text: candidate.logprobs for candidate in row.candidates}
    np.testing.assert_allclose(np.exp(found["<|endoftext|>"]), [0.5, 0, 0, 0], atol=1e-3)
    np.testing.assert_allclose(np.exp(found["a"]), [0.3, 0.6, 0.6, 0], atol=1e-3)
    np.testing.assert_allclose(np.exp(found["<|0.00|>"]), [0.2, 0.4, 0.4, 1], atol=1e-3)
    blank, tokens, timestamps = row.effects
    assert (blank.n_banned, blank.banned[0].text) == (2, "<|endoftext|>")
    assert blank.removed == pytest.approx(0.5, abs=1e-4)
    assert tokens.removed == pytest.approx(0, abs=1e-4)
    assert timestamps.removed == pytest.approx(0.6, abs=1e-4)
    assert timestamps.banned[0].text == "a"
    assert timestamps.banned[0].prob == pytest.approx(0.6, abs=1e-4)
    assert row.candidates[0].text == "<|0.00|>"
    assert len(row.candidates) <= 2 * N_CANDIDATES


def test_the_log_probabilities_are_those_of_the_result() -> None:
    trace = Trace()
    model = random_model(5)
    result = model.decode(mel(0.0), language="en", sample_len=8, trace=trace)
    assert not isinstance(result, list)
    best = result.hypotheses[0]
    for step, token, logprob, raw in zip(
        trace.of(DecodeStep), best.tokens, best.token_logprobs, best.token_raw_logprobs, strict=False
    ):
        (candidate,) = (one for one in step.rows[0].candidates if one.token == token)
        assert candidate.logprob == pytest.approx(logprob, abs=1e-3)
        assert candidate.raw_logprob == pytest.approx(raw, abs=1e-3)


def test_tokens_offered_to_the_search_are_candidates_however_unlikely() -> None:
    for step in trace_of(random_model(2), temperature=3.0, best_of=4).of(DecodeStep):
        for one in (*step.living, *step.finished):
            assert one.token in [candidate.token for candidate in step.rows[one.row].candidates]


def test_a_row_without_any_token_left_is_finished_as_dead() -> None:
    """Only the first timestamp may be sampled; behind it, all text and the end are banned."""

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.full(TIMESTAMP_BEGIN + 1501, -np.inf, np.float32)
        logits[ts(0.0) if history[-1] == TRANSCRIBE else ts(29.0)] = 0
        return logits

    model = Whisper(ScriptedInference(script), byte_tokenizer())
    for options in ({}, {"beam_size": 2}):
        (decode,) = trace_of(model, **options).decodes()
        last = decode.steps[-1]
        assert last.living == ()
        assert [(one.row, one.token, one.stop) for one in last.finished] == [(0, None, "dead")]


def test_attention_is_that_with_which_each_token_was_predicted() -> None:
    said = (ts(0.0), *text("hi"), ts(1.0))
    trace = trace_of(watched_model(say(said)))
    (attention,) = trace.of(AttentionMap)
    (started,) = trace.of(DecodeStarted)
    assert attention.texts == ("<|0.00|>", "h", "i", "<|1.00|>")
    assert attention.heads == ((0, 0), (0, 1))
    weights = attention.weights()
    assert weights.shape == (4, 1500)
    first = len(started.initial_tokens) - 1
    assert weights.argmax(axis=1).tolist() == [10 * (first + place) for place in range(4)]
    np.testing.assert_allclose(weights[0, 10 * first : 10 * first + 2], 0.5, atol=0.01)


def test_engines_that_cannot_tell_leave_attention_out() -> None:
    assert trace_of(random_model()).of(AttentionMap) == []


def test_all_heads_of_the_upper_half_are_looked_at_when_none_are_known() -> None:
    model = watched_model(say((ts(0.0), *text("hi"))))
    model.alignment_heads = None
    (attention,) = trace_of(model).of(AttentionMap)
    assert attention.heads == ((0, 0),)


def test_windows_have_their_attempts_with_reasons_and_their_segments() -> None:
    """The model doubts the window's first decode, the second one is kept."""
    doubted = (ts(0.0), *text("no"), ts(2.0))
    fine = (ts(0.0), *text("yes"), ts(2.0), ts(2.0), *text("well"), ts(4.0))

    decodes: list[int] = []

    def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
        if history[-1] == TRANSCRIBE:  # the first step of a decode
            decodes.append(len(decodes))
        return say(fine)(audio, history) if len(decodes) > 1 else 0.1 * say(doubted)(audio, history)

    trace = Trace()
    audio = np.zeros(16_000 * 4, np.float32)
    watched_model(script).transcribe(audio, language="en", temperature=(0.0, 0.5), short_context=False, trace=trace)
    (window,) = trace.windows()
    assert [(attempt.temperature, attempt.failed) for attempt in window.attempts] == [
        (0.0, ("logprob_threshold",)),
        (0.5, ()),
    ]
    assert window.kept == window.attempts[1].decode == 1
    assert [(segment.start, segment.end, segment.text) for segment in window.segments] == [
        (0.0, 2.0, "yes"),
        (2.0, 4.0, "well"),
    ]
    assert (window.seek, window.end, window.next_seek, window.is_silent) == (0, 400, 400, False)
    assert {started.window for started in trace.of(DecodeStarted)} == {0}


def test_segments_have_the_words_that_they_came_with(monkeypatch: pytest.MonkeyPatch) -> None:
    word = Word(word=" one", start=0.5, end=0.9, probability=0.75)

    def with_words(*arguments: Any, **named: Any) -> tuple[Segment, ...]:
        return tuple(replace(segment, words=(word,)) for segment in make_segments(*arguments, **named))

    monkeypatch.setattr(decoding_of_windows, "make_segments", with_words)
    trace = Trace()
    Whisper(ScriptedInference(say((ts(0.0), *text(" one"), ts(2.0)))), byte_tokenizer()).transcribe(
        np.zeros(16_000 * 5, np.float32), language="en", trace=trace
    )
    assert trace.windows()[0].segments[0].words == (WindowWord(word=" one", start=0.5, end=0.9, probability=0.75),)


def test_a_silent_window_is_marked_and_has_no_segments() -> None:
    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        tokenizer = byte_tokenizer()
        return one_hot(tokenizer.no_speech) if history[-1] == SOT else np.zeros(TIMESTAMP_BEGIN + 1501, np.float32)

    model = Whisper(ScriptedInference(script), byte_tokenizer())
    trace = Trace()
    model.transcribe(np.zeros(16_000, np.float32), language="en", sample_len=3, trace=trace)
    (window,) = trace.windows()
    assert window.is_silent
    assert window.segments == ()
    assert trace.of(DecodeFinished)[0].no_speech_prob == pytest.approx(1, abs=1e-3)


def test_a_transcription_begins_with_its_language_and_options() -> None:
    trace = Trace()
    random_model(eot=2.0).transcribe(np.zeros(16_000, np.float32), sample_len=4, beam_size=2, trace=trace)
    (started,) = trace.of(TranscriptionStarted)
    assert started.duration == 1.0
    assert started.language_probs is not None
    assert started.options["beam_size"] == 2


def test_several_calls_may_share_a_trace() -> None:
    trace = Trace()
    model = random_model(eot=2.0)
    for _ in range(2):
        model.transcribe(np.zeros(16_000, np.float32), language="en", sample_len=4, temperature=0.0, trace=trace)
    assert [window.window for window in trace.windows()] == [0, 1]
    assert len({decode.started.decode for decode in trace.decodes()}) == len(trace.decodes())


def test_numbers_are_rounded_and_finite_or_minus_infinity() -> None:
    for step in trace_of(random_model(), beam_size=3).of(DecodeStep):
        for row in step.rows:
            for candidate in row.candidates:
                assert all(logprob <= 0.001 and not math.isnan(logprob) for logprob in candidate.logprobs)


def test_rejected_text_is_in_the_trace_with_its_reason() -> None:
    """A silent window has text that nobody said; it was in the transcription alone."""
    model = Whisper(ScriptedInference(say((ts(0.0), *text("one"), ts(2.0)))), byte_tokenizer())
    trace = Trace()
    whole = model.transcribe(
        np.zeros(16_000 * 5, np.float32),
        language="en",
        no_speech_threshold=0.0,
        logprob_threshold=0.5,
        vad="off",
        trace=trace,
    )
    (window,) = trace.windows()
    (shown,) = window.rejected
    assert whole.rejected[0].rejected == shown.rejected == "no_speech_threshold"
    assert (shown.text, shown.start, shown.end, shown.speech) == ("one", 0.0, 2.0, None)
    assert window.segments == ()
