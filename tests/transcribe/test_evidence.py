"""Text that nobody said is rejected with a reason, and kept beside the segments."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki import TranscribeOptions
from sasayaki.transcribe import driver
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.evidence import Evidence, reason_against
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import WindowResult
from sasayaki.vad import detector
from tests.fakes import byte_tokenizer, text, ts
from tests.transcribe.scripted_decoder import Answer, ScriptedDecoder, recording, result

FINE = Evidence(is_silent=False, no_speech_prob=0.1, avg_logprob=-0.2, has_failed=False, speech=2.0)
A, B = text(" a"), text(" b")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"is_silent": True}, "no_speech_threshold"),
        ({"is_silent": True, "speech": math.nan}, "no_speech_threshold"),
        ({"speech": 0.0}, ""),  # the model is sure
        ({"speech": 0.0, "no_speech_prob": 0.3}, "no_voice"),
        ({"speech": 0.0, "avg_logprob": -0.6}, "no_voice"),
        ({"speech": 0.03, "no_speech_prob": 0.3}, ""),
        ({"has_words": False}, "no_words"),
        ({"has_words": False, "speech": math.nan}, ""),
        ({"no_speech_prob": 0.9}, ""),  # good text and a voice stand against the model's first guess
        ({"no_speech_prob": 0.9, "avg_logprob": -0.9}, "guess"),
        ({"no_speech_prob": 0.5, "avg_logprob": -0.9}, ""),
        ({"no_speech_prob": 0.5, "has_failed": True}, "guess"),
        ({"no_speech_prob": 0.9, "avg_logprob": -0.9, "is_repetition": True}, ""),
        ({"avg_logprob": -0.9, "says_little": True}, "guess"),  # music
        ({"says_little": True}, ""),  # but that surely
        ({"speech": 1.5, "duration": 5.0, "has_failed": True}, "guess"),
        ({"speech": 2.5, "duration": 5.0, "has_failed": True}, ""),
        ({"speech": 0.4, "duration": 5.0, "no_speech_prob": 0.5}, "no_voice"),
        ({"speech": 0.4, "duration": 5.0}, ""),
        ({"no_speech_prob": 0.3, "has_failed": True}, ""),
        ({"no_speech_prob": 0.37, "has_failed": True, "confidence": 0.3}, ""),
        ({"no_speech_prob": 0.37, "has_failed": True, "confidence": 0.0}, "guess"),  # laughter
        ({"no_speech_prob": 0.31, "has_failed": True, "confidence": 0.0}, ""),  # a word that was not understood
        ({"no_speech_prob": 0.37, "confidence": 0.0}, ""),
        ({"has_failed": True, "n_characters": 60}, ""),
        ({"has_failed": True, "n_characters": 61}, "guess"),  # in 2 s of speech
        ({"n_characters": 61}, ""),
        ({"no_speech_prob": 0.9, "avg_logprob": -0.9, "has_failed": True, "speech": math.nan}, ""),  # nobody listened
    ],
)
def test_evidence_is_weighed_together(changes: dict[str, Any], reason: str) -> None:
    assert reason_against(replace(FINE, **changes)) == reason


def voiced(
    monkeypatch: pytest.MonkeyPatch, *seconds: tuple[float, float], sound: float = 0.0, recurrence: float = 0.0
) -> None:
    """Let voice activity be found in these stretches, a sound that is no voice elsewhere, and so much recurrence."""
    place = 0

    def network(frames: np.ndarray) -> np.ndarray:
        nonlocal place
        times = (place + np.arange(len(frames))) * detector.FRAME_SECONDS
        place += len(frames)
        spoken = sum(((start <= times) & (times < end) for start, end in seconds), start=np.zeros(len(frames), bool))
        return np.where(spoken, 1.0, sound).astype(np.float32)

    monkeypatch.setattr(detector, "SileroNetwork", lambda: network)
    monkeypatch.setattr(driver, "recurrence", lambda mel, farthest: recurrence)


def transcribed(answer: Answer, content_frames: int, **options: Any) -> tuple[ScriptedDecoder, list[WindowResult]]:
    settled = TranscribeOptions(**({"coverage_guard": False, "short_context": False} | options))
    decoder = ScriptedDecoder(answer)
    work = Assignment(content_frames, settled, byte_tokenizer(), n_text_ctx=448)
    loop = transcribe_recording(work, work.begin())
    return decoder, list(Driver(decoder, recording(content_frames)).run(loop))


def doubtful(*tokens: int) -> Answer:
    return lambda question: result(tokens, no_speech_prob=0.3)


def test_silence_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B110: 45 s of zeros gave invented subtitle credits."""
    voiced(monkeypatch)
    decoder, windows = transcribed(doubtful(ts(0), *A, ts(5)), 4500)
    assert decoder.questions == []
    assert [(window.segments, window.done) for window in windows] == [((), 3000), ((), 4500)]


def test_a_window_begins_shortly_before_its_first_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (40, 45))
    decoder, windows = transcribed(lambda question: result((ts(0), *A, ts(5))), 5000)
    assert [(question.seek, question.size) for question in decoder.questions] == [(3980, 1020)]
    assert [(segment.start, segment.end) for window in windows for segment in window.segments] == [(39.9, 44.8)]


@pytest.mark.parametrize(("start", "seek"), [(1.0, 0), (1.1, 0), (1.3, 111)])
def test_short_silence_is_left_at_the_start_of_a_window(
    monkeypatch: pytest.MonkeyPatch, start: float, seek: int
) -> None:
    voiced(monkeypatch, (start, 5))
    decoder, _ = transcribed(lambda question: result((ts(0), *A, ts(5))), 600)
    assert decoder.questions[0].seek == seek


@pytest.mark.parametrize("options", [{"vad": "off"}, {"compat": True}])
def test_without_voice_activity_everything_is_decoded_and_kept(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    voiced(monkeypatch)
    decoder, (window,) = transcribed(doubtful(ts(0), *A, ts(5)), 600, **options)
    assert [question.seek for question in decoder.questions] == [0]
    assert [(segment.text, segment.rejected) for segment in window.segments] == [(" a", "")]
    assert math.isnan(window.segments[0].speech)


def test_text_on_a_sound_without_a_voice_is_rejected_and_kept_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 5), sound=0.3)
    answer = doubtful(ts(0), *A, ts(5), ts(10), *B, ts(12))
    _, (window,) = transcribed(answer, 2000, temperature=0.0)
    assert [(segment.id, segment.text, segment.rejected) for segment in window.segments] == [(0, " a", "")]
    (rejected,) = window.rejected
    assert (rejected.id, rejected.text, rejected.rejected, rejected.speech) == (1, " b", "no_voice", 0.0)
    assert window.segments[0].speech == pytest.approx(5, abs=0.2)


@pytest.mark.parametrize(
    ("written", "reason"),
    [(" [Music]", "no_words"), (' ["Pomp', "no_words"), (" 【音楽】", "no_words"), (" [Music] a", ""), (" (so)", "")],
)
def test_what_stands_in_square_brackets_is_not_said(monkeypatch: pytest.MonkeyPatch, written: str, reason: str) -> None:
    """The name of a march, in brackets, was the text of music that is as loud as speech."""
    voiced(monkeypatch, (0, 5))
    answer = lambda question: result((ts(0), *text(written), ts(5)))  # noqa: E731
    _, (window,) = transcribed(answer, 600, temperature=0.0)
    assert [segment.rejected for segment in (*window.segments, *window.rejected)] == [reason]


@pytest.mark.parametrize(
    ("written", "voiced_s", "reason"), [(11, 3.0, "guess"), (15, 3.0, ""), (1, 2.0, ""), (39, 12.0, "guess")]
)
def test_an_unlikely_text_that_says_little_of_its_window_is_a_guess(
    monkeypatch: pytest.MonkeyPatch, written: int, voiced_s: float, reason: str
) -> None:
    """In 45 s of music by loudness alone, *Thank you.* was left of the last 7 s."""
    voiced(monkeypatch, (1, 1 + voiced_s))
    answer = lambda question: result((ts(0), *text(" " + "a" * written), ts(2)), avg_logprob=-0.9)  # noqa: E731
    _, (window,) = transcribed(answer, 1400, temperature=0.0)
    assert [segment.rejected for segment in (*window.segments, *window.rejected)] == [reason]


def test_rejected_text_is_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 5), (31, 35), sound=0.3)
    decoder, _ = transcribed(doubtful(ts(0), *A, ts(5), ts(10), *B, ts(12)), 4000, temperature=0.0)
    assert decoder.questions[1].options.prompt == (ts(0), *A, ts(5))


def test_a_silent_window_keeps_its_text_aside() -> None:
    answer = lambda question: result((ts(0), *A, ts(5)), no_speech_prob=0.9, avg_logprob=-1.5)  # noqa: E731
    _, (window,) = transcribed(answer, 600, vad="off")
    assert window.segments == ()
    assert [(segment.text, segment.rejected) for segment in window.rejected] == [(" a", "no_speech_threshold")]


def test_rejected_text_is_in_the_transcription() -> None:
    from tests.scripted_model import make_model, tone
    from tests.test_model_transcribe import babble

    model = make_model(babble)
    whole = model.transcribe(tone("low", 2), language="en", temperature=0.0, no_speech_threshold=0.0)
    assert (whole.text, whole.segments) == ("", ())
    assert [segment.rejected for segment in whole.rejected] == ["no_speech_threshold"]
    assert whole.to_dict()["rejected"][0]["text"] == whole.rejected[0].text
