"""Text that says the same again and again is a loop where the sound does not, and no guess where it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.audio.samples import WaveformSamples
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.recording import Recording
from sasayaki.transcribe.repetition import find_runs
from sasayaki.transcribe.requests import Asking, Compare, Said, Window, WindowResult
from sasayaki.transcribe.silence import is_doubted
from sasayaki.transcribe.sound_check import Checked, recurrence_of, without_loops
from tests.fakes import text, ts
from tests.transcribe.scripted_decoder import ScriptedDecoder, WholeMel, result
from tests.transcribe.test_coverage import segment
from tests.transcribe.test_evidence import transcribed, voiced

YES = " yes, yes, yes, yes"


@pytest.mark.parametrize(
    ("texts", "runs"),
    [
        (["Yes, yes. YES yes"], [range(1)]),
        (["yes yes yes"], []),
        (["so, I love it.", " I love it.", " I love it. I", " love it. And"], [range(4)]),
        ([" I love it.", " I love him.", " I love it.", " I love it.", " I love it."], [range(5)]),
        (["I love it. So we do."] * 3 + ["I love it."], [range(4)]),
        (["I love it."] + [f"We all can do that now, {n} and more. I love it." for n in "abc"], []),
        (["So I love it.", " I love it.", " I love it. Now"], [range(3)]),
        (["I love it.", " I love it. And", " I love it."], []),
        (["I love it.", " I love it."], []),
        (["But is it", " I love it.", " I love it.", " I love it.", " I go home now."], [range(1, 4)]),
        (["So we all say I love it", "I love it", "I love it"], [range(3)]),
        (["thank you, thank you, thank you"], []),
        (["in the sea, in the air, in the world, in the end"], []),
        (["no no", "no no", "it is", "so, so so so"], [range(2), range(3, 4)]),
        (["no no", "no no it is it is", "it is it", "is"], [range(2), range(1, 4)]),
        (["a b c d e f g h i j k"] * 4, [range(4)]),
        (["1,000,000,000,000", "8 8 8"], []),
        (["8, 8, 8, 8"], [range(1)]),
        (["ありがとうありがとう", "ありがとうありがとう"], [range(2)]),
        (["谢谢大家谢谢大家谢谢大家谢谢大家"], [range(1)]),
        (["... ... ... ...", ""], []),
        ([], []),
    ],
)
def test_runs_are_words_said_four_times_and_phrases_said_three_times(texts: list[str], runs: list[range]) -> None:
    assert [run.places for run in find_runs(texts)] == runs


@pytest.mark.parametrize(
    ("texts", "n_turns"),
    [(["I love it. So we do."] * 3 + ["I love it."], 4), (["no no", "no no no", "it is"], 5), (["1 2 3 4 5 6"] * 3, 3)],
)
def test_a_run_has_as_many_turns_as_the_phrase_that_is_said_most(texts: list[str], n_turns: int) -> None:
    assert [run.n_turns for run in find_runs(texts)] == [n_turns]


@pytest.mark.parametrize(
    ("texts", "share"),
    [(["yes yes yes yes"], 1.0), (["and some more words, words,", "words, words and more"], 0.5), (["a b"] * 6, 1.0)],
)
def test_a_run_takes_a_share_of_the_words_of_its_texts(texts: list[str], share: float) -> None:
    assert [run.share for run in find_runs(["before it", *texts, "and behind"])] == [pytest.approx(share, abs=0.1)]


@pytest.mark.parametrize(
    ("no_speech_prob", "avg_logprob", "expected"),
    [(0.5, -0.1, True), (0.3, -0.6, True), (0.3, -0.4, False), (0.1, -0.9, False), (0.21, -0.27, False)],
)
def test_a_text_is_doubted_when_the_model_leans_to_silence_or_doubts_both(
    no_speech_prob: float, avg_logprob: float, expected: bool
) -> None:
    """*Words, words, words, words* said slowly has 0.21 and -0.27 (base), and its sound hardly recurs."""
    assert is_doubted(no_speech_prob, avg_logprob) == expected


def window_of(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], recurrence: float, doubt: float = 0.5, **options: Any
) -> WindowResult:
    """A window of segments of 2 s each, all of them speech."""
    voiced(monkeypatch, (0, 2 * len(words)), recurrence=recurrence)
    tokens = [token for place, said in enumerate(words) for token in (ts(2 * place), *text(said), ts(2 * place + 2))]
    answer = lambda question: result(tokens, no_speech_prob=doubt)  # noqa: E731
    _, (window,) = transcribed(answer, 200 * len(words), temperature=0.0, **options)
    return window


@pytest.mark.parametrize("words", [(YES,), (" yes", " yes, yes", " yes"), (" so, I love it.", *[" I love it."] * 2)])
def test_text_that_repeats_itself_where_the_sound_does_not_is_a_loop(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Speech at -10 dB in radio noise: *yes* eight times (tiny.en)."""
    window = window_of(monkeypatch, words, recurrence=0.1)
    assert window.segments == ()
    assert [(segment.text, segment.rejected) for segment in window.rejected] == [(word, "loop") for word in words]


@pytest.mark.parametrize(
    ("words", "recurrence", "doubt", "options"),
    [
        ((YES,), 0.3, 0.5, {}),  # somebody says it
        ((YES,), 0.1, 0.3, {}),  # the model has little doubt
        (
            (" and here are some words. Words, words, words, and that is all.",),
            0.1,
            0.5,
            {},
        ),  # a part of it is said again
        ((" yes, yes, yes",), 0.1, 0.5, {}),
        ((YES,), 0.1, 0.5, {"loop_guard": False}),
        ((YES,), 0.1, 0.5, {"compat": True}),
    ],
)
def test_what_may_be_said_is_kept(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], recurrence: float, doubt: float, options: dict[str, Any]
) -> None:
    window = window_of(monkeypatch, words, recurrence, doubt, **options)
    assert "".join(segment.text for segment in window.segments) == "".join(words)
    assert window.rejected == ()


def test_what_is_beside_a_loop_is_kept_and_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    window = window_of(monkeypatch, (" a", YES, " b"), recurrence=0.1)
    assert [(segment.id, segment.text) for segment in window.segments] == [(0, " a"), (1, " b")]
    assert [(segment.id, segment.text) for segment in window.rejected] == [(1, YES)]
    assert window.place.n_segment == 2


def test_a_loop_is_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 35))
    answer = lambda question: result((ts(0), *text(YES), ts(28)), no_speech_prob=0.5)  # noqa: E731
    decoder, _ = transcribed(answer, 3500, temperature=0.0)
    assert len(decoder.questions) == 2
    assert not decoder.questions[1].options.prompt


def two_windows(
    monkeypatch: pytest.MonkeyPatch, first: str, second: str, doubts: tuple[float, float], recurrence: float
) -> list[WindowResult]:
    """Two windows that say so much in 28 and 4 s."""
    voiced(monkeypatch, (0, 35), recurrence=recurrence)

    def answer(question: Any) -> Any:
        says, end, doubt = (first, 28, doubts[0]) if question.seek == 0 else (second, 4, doubts[1])
        return result((ts(0), *text(says), ts(end)), no_speech_prob=doubt)

    return transcribed(answer, 3500, temperature=0.0)[1]


@pytest.mark.parametrize(
    ("doubts", "recurrence", "is_kept"),
    [
        ((0.5, 0.5), 0.1, False),
        ((0.1, 0.5), 0.1, False),
        ((0.5, 0.1), 0.1, True),  # the model does not doubt what this window says
        ((0.5, 0.5), 0.3, True),  # somebody says it
    ],
)
def test_a_loop_may_begin_in_the_window_before(
    monkeypatch: pytest.MonkeyPatch, doubts: tuple[float, float], recurrence: float, is_kept: bool
) -> None:
    """*I'm going to add the baking soda … I'm going to add a little bit of butter* in white noise (base)."""
    first, second = two_windows(monkeypatch, " so, no, no, no", " no, no", doubts, recurrence)
    assert [segment.text for segment in first.segments] == [" so, no, no, no"]
    assert [segment.text for segment in second.segments] == [" no, no"] * is_kept
    assert [(segment.text, segment.rejected) for segment in second.rejected] == [(" no, no", "loop")] * (not is_kept)
    assert [said.text for said in second.place.said] == [" so, no, no, no", *[" no, no"] * is_kept]


def checked_with(asking: Asking[Checked], recurrence: float | Callable[[Window], float]) -> Checked:
    """What is found where all sound repeats itself so much, or each window as much as a function says."""
    try:
        request = next(asking)
        while True:
            request = asking.send(recurrence(request.window) if callable(recurrence) else recurrence)
    except StopIteration as end:
        found: Checked = end.value
        return found


def test_what_ended_half_a_minute_before_is_no_part_of_a_loop() -> None:
    repeated = replace(segment(60.0, 62.0, " no, no"), no_speech_prob=0.5)
    spoken = [Said(10.0, 30.0, " no, no, no"), Said(30.0, 30.1, " no")]
    checked = checked_with(without_loops([repeated], Window(6000, 7000), spoken), recurrence=0.0)
    assert checked == Checked((repeated,), (), (spoken[1], Said(60.0, 62.0, " no, no")))


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ([Said(1.0, 3.0, " so"), Said(4.0, 9.0, " no, no, no")], (300, 1400)),
        ([Said(4.0, 9.0, " no, no, no")], (400, 1400)),
        ([Said(4.0, 9.0, " no, no, no"), Said(9.0, 10.0, " so")], (1000, 1400)),  # no run with what is before
    ],
)
def test_sound_is_looked_at_from_the_start_of_a_loop_in_the_window_before(
    said: list[Said], window: tuple[int, int]
) -> None:
    repeated = replace(segment(10.0, 12.0, " no, no, no, no"), no_speech_prob=0.5)
    assert next(without_loops([repeated], Window(1000, 2000), said)).window == Window(*window)


@pytest.mark.parametrize(
    ("said", "farthest"),
    [
        (" down, down, down, down, down, down, down, down, down, down", 3.6),
        (" we can see it, we can see it, we can see it", 12.0),
    ],
)
def test_sound_has_to_recur_about_as_soon_as_the_text(said: str, farthest: float) -> None:
    """A forecast that is read three times in 20 s bears out *we can see it* three times, and *down* ten times not."""
    repeated = replace(segment(2.0, 12.0, said), no_speech_prob=0.5)
    assert next(without_loops([repeated], Window(0, 1200))).farthest == pytest.approx(farthest)


def test_of_a_long_loop_the_last_half_minute_is_looked_at() -> None:
    repeated = replace(segment(30.0, 58.0, " no"), no_speech_prob=0.5)
    said = [Said(20.0, 30.0, " no, no, no")]
    assert next(without_loops([repeated], Window(3000, 5800), said)).window == Window(2800, 5800)


def test_what_is_left_of_a_window_is_looked_at_again() -> None:
    words = [" no, no", " so so so so", " no, no", " it is"]
    segments = [replace(segment(n, n + 1, said), no_speech_prob=0.5) for n, said in enumerate(words)]
    checked = checked_with(without_loops(segments, Window(0, 1000)), recurrence=0.0)
    assert [each.text for each in checked.segments] == [" it is"]


@given(st.lists(st.sampled_from([" no", " no, no", " it is"]), max_size=12), st.integers(0, 4), st.integers(1, 9))
def test_what_is_kept_is_kept_when_it_is_looked_at_again(words: list[str], n_before: int, step: int) -> None:
    """As windows of a batch are: first alone, then behind those before."""
    spoken = [replace(segment(n, n + 1, each), no_speech_prob=0.5) for n, each in enumerate(words)]
    said = [Said(each.start, each.end, each.text) for each in spoken[:n_before]]
    checks = partial(without_loops, window=Window(100 * n_before, 100 * len(words) + 1), said=said)
    recurrence = lambda window: (window.start // 100 + window.end * step) % 3 / 10  # noqa: E731
    once = checked_with(checks(spoken[n_before:]), recurrence)
    assert checked_with(checks(once.segments), recurrence) == replace(once, loops=())


def test_without_voice_activity_loops_are_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert window_of(monkeypatch, (YES,), recurrence=0.1, vad="off").segments == ()


@pytest.mark.parametrize(("recurrence", "is_kept"), [(0.3, True), (0.1, False)])
def test_text_that_repeats_itself_as_the_sound_does_is_no_guess(
    monkeypatch: pytest.MonkeyPatch, recurrence: float, is_kept: bool
) -> None:
    """*Two* said three times with 0.2 s between is one stretch of speech, and *Tutu tutu* with base."""
    voiced(monkeypatch, (0, 1.6), recurrence=recurrence)
    answer = result((ts(0), *text(" Tutu tutu"), ts(1.6)), no_speech_prob=0.78, avg_logprob=-0.89)
    _, (window,) = transcribed(lambda question: answer, 170, temperature=0.0)
    assert [segment.text for segment in window.segments] == [" Tutu tutu"] * is_kept


@pytest.mark.parametrize(
    ("start", "end", "window"), [(1.0, 3.0, (100, 300)), (-0.1, 3.0, (0, 300)), (5.0, 36.1, (500, 3500))]
)
def test_sound_is_looked_at_in_a_window(start: float, end: float, window: tuple[int, int]) -> None:
    assert next(recurrence_of(start, end)) == Compare(Window(*window))


@pytest.mark.parametrize(
    ("segments", "window"),
    [
        ([segment(0.0, 1.5, YES)], (0, 350)),  # *five* said three times in 3 s, and in 1.5 s by its timestamps
        ([segment(0.0, 2.0, " a"), segment(3.0, 4.0, YES), segment(5.5, 9.0, " b")], (200, 550)),
        ([segment(4.0, 5.0, YES)], (200, 700)),  # a loop in noise, and behind it a forecast that is read three times
        ([segment(0.0, 2.5, " a"), segment(2.0, 11.0, YES)], (200, 1100)),
    ],
)
def test_sound_is_looked_at_between_the_segments_beside_and_near_the_loop(
    segments: list[Any], window: tuple[int, int]
) -> None:
    doubted = [replace(each, no_speech_prob=0.5) for each in segments]
    assert next(without_loops(doubted, Window(0, 1000))).window == Window(*window)


def test_sound_is_compared_without_what_fills_a_window() -> None:
    mel = np.random.default_rng(0).standard_normal((80, 4000)).astype(np.float32)
    mel[:, 100:300] = np.tile(mel[:, :50], 4)
    audio = Recording(WholeMel(mel), 1000, WaveformSamples(np.zeros(160_000, np.float32)))
    driver = Driver(ScriptedDecoder(lambda question: result()), audio)  # type: ignore[arg-type]
    assert driver.answer(Compare(Window(100, 300))) > 0.99
    assert driver.answer(Compare(Window(400, 600))) < 0.1
