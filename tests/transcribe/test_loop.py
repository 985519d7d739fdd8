"""The long-form loop: where windows start, what they are told, and which segments come out."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki import DecodingResult
from tests.fakes import N_TIMESTAMPS, TIMESTAMP_BEGIN, text, ts
from tests.transcribe.scripted_decoder import Question, ScriptedDecoder, recording, result, run, windows

A, B, C = text(" a"), text(" b"), text(" c")
SENTENCE = (ts(0), *A, ts(30))


def places(decoder: ScriptedDecoder) -> list[tuple[int, int]]:
    """(seek, size) of every decode."""
    return [(question.seek, question.size) for question in decoder.questions]


def prompts(decoder: ScriptedDecoder) -> list[tuple[int, ...]]:
    return [tuple(question.options.prompt or ()) for question in decoder.questions]


def test_each_clip_starts_at_its_own_start() -> None:
    """B59: the place reached in one clip carried over, and the gap to the next was transcribed too."""
    decoder = ScriptedDecoder(windows((ts(0), *A, ts(12), ts(12), *B, ts(29))))
    segments = run(decoder, 1000, clip_timestamps="0,1,3,4")
    assert places(decoder) == [(0, 100), (300, 100)]
    assert [segment.text for segment in segments] == [" a", " b", " a", " b"]
    for segment in segments:
        assert any(start <= segment.start < segment.end <= end for start, end in ((0, 1), (3, 4)))


@pytest.mark.parametrize("clips", ["5,99", "5,10.01", "5", "5,10,10,12", "5,10,700,800"])
def test_clips_that_end_after_the_audio_are_cut_and_never_loop(clips: str) -> None:
    """B59, openai/whisper 2005: a window without frames was decoded for ever."""
    decoder = ScriptedDecoder(windows(SENTENCE))
    segments = run(decoder, 1000, clip_timestamps=clips)
    assert places(decoder) == [(500, 500)]
    assert [(segment.start, segment.end) for segment in segments] == [(5, 10)]


def test_clips_behind_the_audio_are_left_out() -> None:
    decoder = ScriptedDecoder(windows(SENTENCE))
    assert run(decoder, 1000, clip_timestamps=[11, 12, 20]) == []
    assert decoder.questions == []


def test_clips_are_transcribed_in_the_order_given_each_for_itself() -> None:
    decoder = ScriptedDecoder(windows((ts(0), *A)))
    segments = run(decoder, 1000, clip_timestamps="5,8,0,6")
    assert [(segment.id, segment.start, segment.end) for segment in segments] == [(0, 5, 8), (1, 0, 6)]


def test_a_clip_of_several_windows_ends_where_it_ends() -> None:
    decoder = ScriptedDecoder(windows((ts(0), *A)))
    run(decoder, 9000, clip_timestamps="10,75")
    assert places(decoder) == [(1000, 3000), (4000, 3000), (7000, 500)]


def test_the_last_complete_timestamp_decides_where_the_next_window_starts() -> None:
    """B61: audio under 30 s was taken for one window, and its unfinished sentence was lost."""
    first, second = (ts(0), *A, ts(8), ts(8), *B), (ts(0), *B, *C, ts(10), ts(10), *C, ts(12))
    decoder = ScriptedDecoder(windows(first, second))
    segments = run(decoder, 2000)
    assert places(decoder) == [(0, 2000), (800, 1200)]
    assert [(segment.seek, segment.start, segment.end, segment.text) for segment in segments] == [
        (0, 0, 8, " a"),
        (800, 8, 18, " b c"),
        (800, 18, 20, " c"),
    ]


def test_windows_without_timestamps_follow_each_other() -> None:
    """B71: windows are contiguous, and segments carry their times so that gaps can be seen."""
    decoder = ScriptedDecoder(windows(A, B, C))
    segments = run(decoder, 7500, without_timestamps=True)
    assert [seek for seek, _ in places(decoder)] == [0, 3000, 6000]
    assert [(segment.start, segment.end) for segment in segments] == [(0, 30), (30, 60), (60, 75)]


@pytest.mark.parametrize(("n_frames", "end"), [(3000, 30), (500, 5), (4500, 30)])
def test_a_lone_zero_timestamp_keeps_its_text(n_frames: int, end: float) -> None:
    """B50: the segment had no duration and was thrown away as instantaneous."""
    first, *_ = run(ScriptedDecoder(windows((ts(0), *A, *B))), n_frames)
    assert (first.start, first.end, first.text) == (0, end, " a b")


def test_no_segment_is_empty() -> None:
    """B51: a segment without text came from every window."""
    window = (ts(0), *A, ts(5), ts(5), *text("  "), ts(30), ts(30))
    segments = run(ScriptedDecoder(windows(window)), 9000)
    assert [(segment.id, segment.start, segment.end) for segment in segments] == [(0, 0, 5), (1, 30, 35), (2, 60, 65)]
    assert all(segment.text.strip() and segment.end > segment.start for segment in segments)


@pytest.mark.parametrize("n_frames", [120, 4500, 3001, 1])
def test_times_stay_within_the_recording(n_frames: int) -> None:
    """B110: 1.2 s of silence ended at 10 to 30 s."""
    decoder = ScriptedDecoder(windows((ts(1), *A, ts(25), ts(28), *B, ts(30))))
    segments = run(decoder, n_frames)
    assert segments
    assert all(0 <= segment.start < segment.end <= n_frames / 100 for segment in segments)


def test_an_empty_recording_asks_nothing() -> None:
    decoder = ScriptedDecoder(windows(SENTENCE))
    assert run(decoder, 0) == []
    assert decoder.contexts == []


def test_the_text_so_far_prompts_the_next_window() -> None:
    decoder = ScriptedDecoder(windows((ts(0), *A, ts(9)), (ts(0), *B, ts(9)), C))
    run(decoder, 9000)
    assert prompts(decoder) == [(), (ts(0), *A, ts(9)), (ts(0), *A, ts(9), ts(0), *B, ts(9))]


def test_segments_that_were_dropped_are_no_context() -> None:
    decoder = ScriptedDecoder(windows((ts(0), *text(" "), ts(4), ts(4), *A, ts(30)), B))
    run(decoder, 6000)
    assert prompts(decoder)[1] == (ts(4), *A, ts(30))


def test_text_that_is_left_to_the_next_window_is_no_context() -> None:
    decoder = ScriptedDecoder(windows((ts(0), *A, ts(8), ts(8), *B), B))
    run(decoder, 2000)
    assert prompts(decoder)[1] == (ts(0), *A, ts(8))


def test_without_conditioning_only_the_first_window_has_a_prompt() -> None:
    decoder = ScriptedDecoder(windows(A))
    run(decoder, 9000, condition_on_previous_text=False, initial_prompt="names")
    assert prompts(decoder) == [text(" names"), (), ()]


def test_without_conditioning_a_carried_prompt_stands_alone_in_every_window() -> None:
    decoder = ScriptedDecoder(windows(A))
    run(decoder, 9000, condition_on_previous_text=False, initial_prompt="names", carry_initial_prompt=True)
    assert prompts(decoder) == [text(" names")] * 3


@pytest.mark.parametrize(("temperature", "is_reset"), [(0.4, False), (0.5, False), (0.6, True)])
def test_text_sampled_hot_is_no_context(temperature: float, is_reset: bool) -> None:
    decoder = ScriptedDecoder(windows(A, B))
    run(decoder, 6000, temperature=temperature, initial_prompt="names")
    assert prompts(decoder)[1] == (() if is_reset else (*text(" names"), *A))


def test_a_silent_window_neither_adds_to_the_context_nor_resets_it() -> None:
    answers = {0: result(A), 3000: result(B, no_speech_prob=0.9, avg_logprob=-2.0, temperature=1.0), 6000: result(C)}
    decoder = ScriptedDecoder(lambda question: answers[question.seek])
    segments = run(decoder, 9000)
    assert [segment.text for segment in segments] == [" a", " c"]
    assert [segment.id for segment in segments] == [0, 1]
    assert prompts(decoder) == [(), A, A]


@pytest.mark.parametrize("n_prompt", [0, 1, 12, 222, 223, 224, 300])
def test_a_carried_prompt_stands_before_every_window(n_prompt: int) -> None:
    """B18: from 223 tokens on, the second window lost it."""
    glossary = tuple(random.Random(0).randrange(256) for _ in range(n_prompt))
    decoder = ScriptedDecoder(windows(text(" w" * 60)))
    run(decoder, 9000, initial_prompt=glossary, carry_initial_prompt=True)
    carried = glossary[-223:]
    for window, prompt in enumerate(prompts(decoder)):
        room = 223 - len(carried)
        assert prompt == (*carried, *(text(" w" * 60 * window)[-room:] if room else ()))


def test_segments_carry_the_figures_of_their_window() -> None:
    answer = result(
        (ts(0), *A, ts(2), ts(2), *B, ts(4)),
        avg_logprob=-0.3,
        compression_ratio=1.5,
        no_speech_prob=0.2,
    )
    for segment in run(ScriptedDecoder(lambda _: answer), 400):
        assert (segment.avg_logprob, segment.compression_ratio, segment.no_speech_prob) == (-0.3, 1.5, 0.2)
        assert (segment.language, segment.temperature, len(segment.attempts)) == ("en", 0.0, 1)


def test_a_character_cut_by_a_segment_border_stands_whole_in_the_later_one() -> None:
    cat = "猫".encode()
    window = (ts(0), *A, *cat[:1], ts(2), ts(2), *cat[1:], *B, ts(4))
    segments = run(ScriptedDecoder(windows(window)), 400)
    assert [segment.text for segment in segments] == [" a", "猫 b"]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 7000))
def test_any_tokens_give_segments_within_the_recording(seed: int, n_frames: int) -> None:
    def answer(question: Question) -> DecodingResult:
        rng = random.Random(f"{seed} {question.seek}")
        pool = [*text("ab é"), *(TIMESTAMP_BEGIN + rng.randrange(N_TIMESTAMPS) for _ in range(5))]
        return result([rng.choice(pool) for _ in range(rng.randrange(20))])

    decoder = ScriptedDecoder(answer)
    segments = run(decoder, n_frames)
    assert [segment.id for segment in segments] == list(range(len(segments)))
    for segment in segments:
        assert segment.text.strip()
        assert 0 <= segment.start < segment.end <= recording(n_frames).duration
    seeks = [seek for seek, _ in places(decoder)]
    assert seeks == sorted(seeks), "windows only move on"
    assert max(Counter(seeks).values()) <= 2, "a window is decoded once more for a habit alone"
