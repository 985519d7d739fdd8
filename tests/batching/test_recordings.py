"""Tests of windows side by side: whatever runs beside them, they give what they would give alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.errors import StoppedError
from sasayaki.results import Transcription
from sasayaki.transcribe import driver, guard, sound_check
from sasayaki.transcribe.coverage import find_gaps
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.requests import Window
from tests.fakes import EOT, text, ts
from tests.scripted_model import make_model, sentence, speak, tone

SILENCE = np.zeros(16000 * 4, np.float32)


def recording(*tones: str) -> np.ndarray:
    """Tones of 20 s with silences of 4 s between, so that each is a cut of its own."""
    return np.concatenate([part for name in tones for part in (tone(name, 20.0), SILENCE)])


def transcribe(batch_size: int, audio: np.ndarray, model: sasayaki.Whisper | None = None, **options: Any) -> Any:
    given = {"language": "en", "vad": "energy", "coverage_guard": False} | options
    return (model or make_model(speak())).transcribe(audio, batch_size=batch_size, **given)


def plain(result: Transcription) -> list[tuple[Any, ...]]:
    return [(each.id, each.seek, each.start, each.end, each.text, each.attempts) for each in result.segments]


@pytest.mark.parametrize("beam_size", [None, 3])
@pytest.mark.parametrize("batch_size", [3, 8])
def test_a_batch_gives_what_its_cuts_give_one_by_one(batch_size: int, beam_size: int | None) -> None:
    says = {"high": (ts(0), *text(" one"), ts(5), ts(5), *text(" two and more"), ts(9)), "low": sentence("low", 19)}
    model = make_model(speak(says))
    audio = recording("low", "high", "middle", "low", "high")
    two = transcribe(2, audio, model, beam_size=beam_size)
    more = transcribe(batch_size, audio, model, beam_size=beam_size)
    assert plain(two) == plain(more)
    assert [each.id for each in more.segments] == list(range(len(more.segments)))
    assert [each.start for each in more.segments] == sorted(each.start for each in more.segments)
    assert "one two and more" in more.text


def test_only_what_fails_is_decoded_again() -> None:
    loop = (ts(0), *text(" so so so so so so so so so so so so so so so so so so so so"), ts(19))
    model = make_model(speak({"high": loop}))
    result = transcribe(4, recording("low", "high", "middle"), model, loop_guard=False, temperature=(0.0, 0.2))
    assert [len(each.attempts) for each in result.segments] == [1, 2, 1]


def test_cuts_are_made_in_silence_and_cover_all_speech() -> None:
    result = transcribe(2, recording("low", "high", "middle"))
    starts = [each.seek / 100 for each in result.segments]
    assert starts == pytest.approx([0, 24, 48], abs=0.3)


def test_text_behind_a_pause_of_timestamps_is_written_in_the_same_window() -> None:
    """The model may leave what it begins to the next window; behind a cut there is none."""
    script = (ts(0), *text(" one"), ts(5), ts(5), EOT, *text(" two"), ts(19))
    model = make_model(speak({"high": script}))
    result = transcribe(4, recording("high", "low"), model)
    assert len(model.inference.encoded) == 2
    assert [each.start for each in result.segments][:2] == [0.0, 5.0]


def test_speech_that_no_text_covers_is_decoded_again_though_vad_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "find_gaps", find_gaps)
    model = make_model(speak({"high": sentence("high", 2)}))
    result = transcribe(4, recording("low", "high"), model, vad="off", coverage_guard=True)
    assert result.n_guard_decodes >= 1
    assert transcribe(4, recording("low", "high"), model, vad="off").n_guard_decodes == 0


@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_window_is_let_go_of_before_a_part_of_it_is_encoded(monkeypatch: pytest.MonkeyPatch, batch_size: int) -> None:
    """Keys and values of a window are large, and those of a batch lie together."""
    held, take = [], Driver.take

    def watch(driver: Driver, window: Window, features: Any) -> None:
        held.append(len(driver._encoded))
        take(driver, window, features)

    monkeypatch.setattr(guard, "find_gaps", find_gaps)
    monkeypatch.setattr(Driver, "take", watch)
    model = make_model(speak({"high": sentence("high", 2)}))
    assert transcribe(batch_size, recording("low", "high"), model, coverage_guard=True).n_guard_decodes >= 1
    assert len(held) > 2
    assert set(held) == {0}


def test_a_recording_without_speech_has_no_segments() -> None:
    assert transcribe(4, SILENCE).segments == ()


def test_segments_come_before_the_recording_is_done() -> None:
    model = make_model(speak())
    stream = model.stream(recording("low", "high", "middle", "low"), language="en", vad="energy", batch_size=2)
    assert next(stream).text == " low"
    assert len(model.inference.encoded) < 4
    stream.close()


def test_clips_stay_what_the_caller_named() -> None:
    result = transcribe(2, recording("low", "high", "middle"), clip_timestamps="24,44")
    assert [each.text for each in result.segments] == [" high"]


def test_segments_of_every_cut_have_the_probability_of_a_detected_language() -> None:
    result = transcribe(2, recording("low", "high", "middle"), language=None)
    assert [each.language for each in result.segments] == ["en"] * 3
    probabilities = [each.language_probability for each in result.segments]
    assert probabilities == [pytest.approx(result.language_probs["en"])] * 3


def test_cancelling_leaves_nothing_open() -> None:
    model = make_model(speak())
    with pytest.raises(StoppedError) as caught:
        transcribe(2, recording("low", "high"), model, cancel=lambda: len(model.inference.calls) > 5)
    assert caught.value.transcription is not None
    assert model.inference.n_open == 0


def test_a_journal_goes_on_with_the_cut_that_was_not_done(tmp_path: Path) -> None:
    audio = recording("low", "high", "middle", "low", "high")
    whole = transcribe(2, audio)
    stream = make_model(speak()).stream(
        audio, language="en", vad="energy", coverage_guard=False, batch_size=2, journal=tmp_path / "journal"
    )
    for _ in range(2):
        next(stream)
    stream.close()
    model = make_model(speak())
    again = transcribe(2, audio, model, journal=tmp_path / "journal")
    assert plain(again) == plain(whole)


@pytest.mark.parametrize("batch_size", [2, 8])
def test_a_loop_may_begin_in_the_cut_before(monkeypatch: pytest.MonkeyPatch, batch_size: int) -> None:
    """Nothing of a cut is known when the one behind it is transcribed; segments are looked at in their order."""
    monkeypatch.setattr(driver, "recurrence", lambda mel, farthest: 0.1)
    monkeypatch.setattr(sound_check, "is_doubted", lambda *_: True)
    says = {"low": sentence("no, no, no", 19), "high": sentence("no, no", 19)}
    audio = recording("low", "high", "middle", "high", "low")
    result = transcribe(batch_size, audio, make_model(speak(says)))
    assert [each.text for each in result.segments] == [" no, no, no", " middle", " no, no"]
    assert [each.id for each in result.segments] == [0, 1, 2]
    assert [(each.id, each.text, each.rejected) for each in result.rejected] == [
        (1, " no, no", "loop"),
        (3, " no, no, no", "loop"),
    ]


def test_rejected_segments_have_the_number_of_the_kept_one_behind_them() -> None:
    model = make_model(speak({"high": sentence("...", 19)}))
    result = transcribe(2, recording("low", "middle", "high", "low"), model)
    assert [(each.id, each.text) for each in result.segments] == [(0, " low"), (1, " middle"), (2, " low")]
    assert [(each.id, each.text) for each in result.rejected] == [(2, " ...")]


def test_a_loop_is_found_where_a_journal_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(driver, "recurrence", lambda mel, farthest: 0.1)
    monkeypatch.setattr(sound_check, "is_doubted", lambda *_: True)
    says = {"low": sentence("no, no, no", 19), "high": sentence("no, no", 19)}
    options = {"language": "en", "vad": "energy", "batch_size": 2, "journal": tmp_path / "journal"}
    stream = make_model(speak(says)).stream(recording("low", "high"), **options)
    assert next(stream).text == " no, no, no"
    stream.close()
    assert transcribe(model=make_model(speak(says)), audio=recording("low", "high"), **options).text == " no, no, no"


@pytest.mark.weights
def test_real_recordings_give_the_same_in_batches_of_any_size(real_model: Any) -> None:
    model = real_model("tiny.en", "openvino")
    names = ["en_jfk.mp3", "en_lj_LJ001-0001.mp3", "en_libri_1089-134686-0001.flac", "en_lj_LJ001-0008.mp3"]
    audio = np.concatenate([part for name in names for part in (sasayaki.load_audio(f"tests/data/{name}"), SILENCE)])
    results = [model.transcribe(audio, batch_size=size, beam_size=2) for size in (2, 4)]
    assert plain(results[0]) == plain(results[1])
    assert "ask not what your country can do for you" in results[0].text
