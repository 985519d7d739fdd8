"""Temperature fallback and the no-speech rule."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from sasayaki import OptionError, TranscribeOptions
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.fallback import best_failure, decode_with_fallback, failed_checks
from sasayaki.transcribe.requests import Decode, Window
from sasayaki.transcribe.silence import is_silent
from tests.fakes import text
from tests.transcribe.scripted_decoder import Question, ScriptedDecoder, result, run

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def same(answer: DecodingResult) -> ScriptedDecoder:
    """A decoder that says the same at every temperature."""

    def at(question: Question) -> DecodingResult:
        return result(
            answer.tokens,
            avg_logprob=answer.avg_logprob,
            no_speech_prob=answer.no_speech_prob,
            compression_ratio=answer.compression_ratio,
            temperature=question.options.temperature,
        )

    return ScriptedDecoder(at)


TABLE = {
    # (no_speech_prob, avg_logprob, compression_ratio): (attempts, is_kept)
    (0.3, -0.5, 1.0): (1, True),
    (0.3, -0.5, 5.0): (6, True),
    (0.3, -2.0, 1.0): (6, True),
    (0.3, -2.0, 5.0): (6, True),
    (0.9, -0.5, 1.0): (1, True),
    (0.9, -0.5, 5.0): (6, True),
    (0.9, -2.0, 1.0): (1, False),
    (0.9, -2.0, 5.0): (1, False),
}


@pytest.mark.parametrize("case", TABLE)
def test_silence_needs_both_no_speech_and_a_low_probability(case: tuple[float, float, float]) -> None:
    """B69: a high no-speech probability alone ended the attempts or threw good speech away."""
    no_speech_prob, avg_logprob, compression_ratio = case
    decoder = same(
        result(
            text(" a"),
            no_speech_prob=no_speech_prob,
            avg_logprob=avg_logprob,
            compression_ratio=compression_ratio,
        )
    )
    segments = run(decoder, 500)
    assert (len(decoder.questions), bool(segments)) == TABLE[case]


@pytest.mark.parametrize(
    "case", list(itertools.product((0.3, 0.9), (-0.5, -2.0), (1.0, 5.0))), ids=lambda case: "-".join(map(str, case))
)
def test_without_a_probability_limit_no_speech_decides_alone(case: tuple[float, float, float]) -> None:
    """B69, with logprob_threshold=None."""
    no_speech_prob, avg_logprob, compression_ratio = case
    answer = result(
        text(" a"), no_speech_prob=no_speech_prob, avg_logprob=avg_logprob, compression_ratio=compression_ratio
    )
    decoder = same(answer)
    segments = run(decoder, 500, logprob_threshold=None)
    assert bool(segments) == (no_speech_prob == 0.3)
    assert len(decoder.questions) == (6 if segments and compression_ratio == 5.0 else 1)


def test_without_a_no_speech_limit_every_window_is_kept() -> None:
    decoder = same(result(text(" a"), no_speech_prob=1.0, avg_logprob=-9.0))
    assert len(run(decoder, 500, no_speech_threshold=None)) == 1


def test_values_at_a_limit_pass_it() -> None:
    options = TranscribeOptions()
    edge = result(no_speech_prob=0.6, avg_logprob=-1.0, compression_ratio=2.4)
    assert failed_checks(edge, options) == ()
    assert not is_silent(edge, options)
    assert not is_silent(result(no_speech_prob=0.7, avg_logprob=-1.0), options)


def test_beams_belong_to_temperature_zero_and_samples_to_the_others() -> None:
    """B07: beam_size and best_of may both be given to a transcription."""
    decoder = same(result(text(" a"), avg_logprob=-3.0))
    run(decoder, 500, beam_size=5, best_of=4, patience=2.0, temperature=(0, 0.4))
    cold, hot = (question.options for question in decoder.questions)
    assert (cold.temperature, cold.beam_size, cold.patience, cold.best_of) == (0, 5, 2.0, None)
    assert (hot.temperature, hot.beam_size, hot.patience, hot.best_of) == (0.4, None, None, 4)


def test_a_window_is_encoded_once_for_all_temperatures() -> None:
    """B72: a 5-second clip took a minute."""
    decoder = same(result(text(" a"), avg_logprob=-3.0))
    run(decoder, 500)
    assert decoder.contexts == [3000]
    assert [question.options.temperature for question in decoder.questions] == list(TEMPERATURES)


def test_one_temperature_is_one_attempt() -> None:
    """B72: an option limits the ladder."""
    decoder = same(result(text(" a"), avg_logprob=-3.0))
    segments = run(decoder, 500, temperature=0)
    assert len(decoder.questions) == 1
    assert segments[0].attempts[0].failed == ("logprob_threshold",)


def test_attempts_stop_at_the_first_that_passes_and_say_why_others_failed() -> None:
    answers = {
        0.0: result(text(" a"), avg_logprob=-2.0, compression_ratio=5.0, no_speech_prob=0.1),
        0.2: result(text(" b"), compression_ratio=3.0),
        0.4: result(text(" c"), temperature=0.4),
    }
    decoder = ScriptedDecoder(lambda question: answers[question.options.temperature])
    (segment,) = run(decoder, 500)
    assert segment.text == " c"
    assert segment.temperature == 0.4
    assert [attempt.failed for attempt in segment.attempts] == [
        ("compression_ratio_threshold", "logprob_threshold"),
        ("compression_ratio_threshold",),
        (),
    ]
    first = segment.attempts[0]
    assert (first.avg_logprob, first.compression_ratio, first.no_speech_prob) == (-2.0, 5.0, 0.1)


def test_when_all_fail_the_likeliest_without_a_loop_is_kept() -> None:
    options = TranscribeOptions()
    results = [
        result(text("loop"), avg_logprob=-0.1, compression_ratio=9.0),
        result(text("unsure"), avg_logprob=-2.0),
        result(text("best"), avg_logprob=-1.5),
        result(text("same"), avg_logprob=-1.5),
        result(text("hottest"), avg_logprob=-3.0),
    ]
    assert best_failure(results, options).text == "best"


def test_when_all_loop_the_least_repetitive_is_kept() -> None:
    options = TranscribeOptions()
    ratios = [9.0, 3.0, 2.5, 2.5, 8.0]
    results = [result((number,), compression_ratio=ratio) for number, ratio in enumerate(ratios)]
    assert best_failure(results, options).tokens == (2,)


def test_without_a_ratio_limit_the_likeliest_failure_is_kept() -> None:
    options = TranscribeOptions(compression_ratio_threshold=None)
    results = [
        result((1,), avg_logprob=-2.0, compression_ratio=1.0),
        result((2,), avg_logprob=-1.1, compression_ratio=99),
    ]
    assert best_failure(results, options).tokens == (2,)


def test_all_attempts_are_in_the_segment_when_none_passes() -> None:
    decoder = same(result(text(" a"), avg_logprob=-3.0))
    (segment,) = run(decoder, 500)
    assert [attempt.temperature for attempt in segment.attempts] == list(TEMPERATURES)
    assert all(attempt.failed == ("logprob_threshold",) for attempt in segment.attempts)
    assert segment.temperature == 0.0


def test_steps_of_the_ladder_are_made_only_when_they_are_needed() -> None:
    made: list[float] = []

    def ladder() -> Iterator[Decode]:
        for temperature in TEMPERATURES:
            made.append(temperature)
            yield Decode(Window(0, 3000), DecodingOptions(temperature=temperature))

    attempts = decode_with_fallback(ladder(), TranscribeOptions())
    asked = next(attempts)
    assert asked == Decode(Window(0, 3000), DecodingOptions(temperature=0))
    with pytest.raises(StopIteration) as end:
        attempts.send(result(temperature=0.0))
    assert made == [0.0]
    assert end.value.value.result.temperature == 0.0


@pytest.mark.parametrize(
    "temperature", [None, "0", (), (0, None), (0, "0.2"), -0.1, float("nan"), (0, float("inf")), True]
)
def test_what_is_no_ladder_is_refused(temperature: object) -> None:
    with pytest.raises(OptionError, match="temperature"):
        TranscribeOptions(temperature=temperature)
