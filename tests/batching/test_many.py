"""Tests of many recordings side by side: each as it would be alone, in order, whatever the others are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.errors import AudioError, BackendError, OptionError, StoppedError
from tests.fakes import text, ts
from tests.scripted_model import make_model, speak, tone, wav

SAYS = {"high": (ts(0), *text(" one"), ts(5), ts(5), *text(" two and more"), ts(9))}


def recordings() -> list[np.ndarray]:
    names = [("low",), ("high", "middle", "low"), ("top", "high"), ("middle",), ("low", "top", "high", "low")]
    return [np.concatenate([tone(name, 25.0) for name in each]) for each in names]


def facts(result: sasayaki.Transcription) -> list[tuple[Any, ...]]:
    return [(one.id, one.start, one.end, one.text, one.attempts, one.language) for one in result.segments]


@pytest.mark.parametrize("n_windows", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_each_recording_is_transcribed_as_alone(n_windows: int, batch_size: int) -> None:
    options = {"vad": "energy", "batch_size": batch_size, "beam_size": 2}
    model = make_model(speak(SAYS))
    alone = [facts(model.transcribe(one, **options)) for one in recordings()]
    together = list(model.transcribe_many(recordings(), n_windows=n_windows, **options))
    assert [facts(one.transcription) for one in together] == alone
    assert model.inference.n_open == 0


def test_windows_of_several_recordings_share_the_calls_of_the_engine() -> None:
    model = make_model(speak(SAYS))
    list(model.transcribe_many(recordings(), language="en", vad="energy", n_windows=3))
    assert max(len({row.audio.name for row in call.rows}) for call in model.inference.calls) == 3


def test_a_recording_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.wav").write_bytes(b"no sound")
    sources = [tmp_path / "missing.mp3", tone("low", 20.0), tmp_path / "broken.wav", tone("high", 20.0)]
    found = list(make_model(speak()).transcribe_many(sources, language="en"))
    assert [one.source is source for one, source in zip(found, sources, strict=True)] == [True] * 4
    assert [one.transcription and one.transcription.text for one in found] == [None, " low", None, " high"]
    assert [type(one.error) for one in found] == [AudioError, type(None), AudioError, type(None)]
    assert "missing.mp3" in str(found[0].error)


def broken(word: str, failure: Any) -> Any:
    """A script that fails for one tone, at the second token of its text."""

    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        logits = speak()(name, history)
        return failure(logits) if name == word and len(history) > 5 else logits

    return script


@pytest.mark.parametrize("n_windows", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_a_recording_that_fails_in_the_middle_does_not_stop_the_others(n_windows: int, batch_size: int) -> None:
    model = make_model(broken("high", lambda logits: logits * np.nan))
    sources = [
        np.concatenate([tone(name, 30.0) for name in names])
        for names in (("low", "top"), ("low", "high", "low"), ("middle",), ("top", "low"))
    ]
    options = {"language": "en", "vad": "off", "coverage_guard": False, "batch_size": batch_size}
    found = list(model.transcribe_many(sources, n_windows=n_windows, **options))
    assert [one.source is source for one, source in zip(found, sources, strict=True)] == [True] * 4
    assert [type(one.error) for one in found] == [type(None), BackendError, type(None), type(None)]
    texts = [one.transcription.text for one in found if one.transcription]
    alone = [make_model(speak()).transcribe(source, **options).text for source in sources]
    assert texts[:1] + texts[2:] == alone[:1] + alone[2:]
    assert texts[1] == alone[1][: len(texts[1])] != ""
    assert model.inference.n_open == 0


def test_an_engine_that_fails_ends_only_what_it_was_at() -> None:
    failures = iter([True])

    def fail_once(logits: np.ndarray) -> np.ndarray:
        if next(failures, False):
            raise RuntimeError("out of memory")
        return logits

    model = make_model(broken("high", fail_once))
    sources = [tone(name, 20.0) for name in ("low", "high", "middle", "high", "top")]
    found = list(model.transcribe_many(sources, language="en", vad="off", n_windows=2))
    assert [str(one.error) for one in found] == ["out of memory", "out of memory", "None", "None", "None"]
    assert [one.transcription.text for one in found if one.transcription] == ["", "", " middle", " high", " top"]


def test_a_file_that_breaks_off_is_transcribed_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = wav(np.concatenate([tone("low", 30.0), tone("high", 30.0)]))
    (tmp_path / "short.wav").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "whole.wav").write_bytes(whole)
    found = list(make_model(speak()).transcribe_many([tmp_path / "short.wav", tmp_path / "whole.wav"], language="en"))
    assert [one.transcription.duration for one in found] == [pytest.approx(40, abs=0.1), 60.0]
    assert [one.transcription.text for one in found] == [" low high", " low high"]


@pytest.mark.parametrize("error", [ValueError("mine"), StoppedError("too long", reason="time_limit")])
def test_a_callback_that_raises_ends_its_recording(error: Exception) -> None:
    model = make_model(speak())

    def raise_later() -> bool:
        if len(model.inference.calls) > 20:
            raise error
        return False

    def begin(name: str, stream: Any) -> Any:
        audio = np.concatenate([tone(name, 30.0)] * 3)
        return stream(audio, language="en", vad="off", cancel=raise_later if name == "high" else None)

    texts = {}
    for name, stream in model.stream_many(["low", "high", "top"], begin, n_windows=3):
        try:
            texts[name] = stream.collect().text
        except type(error):
            texts[name] = stream.transcription.text
    assert texts == {"low": " low low low", "high": " high high", "top": " top top top"}
    assert model.inference.n_open == 0


def test_a_recording_may_take_so_long_and_not_longer() -> None:
    found = list(make_model(speak()).transcribe_many(recordings(), language="en", time_limit=1e-9))
    assert [one.error.reason for one in found] == ["time_limit"] * 5
    with pytest.raises(OptionError, match="time_limit"):
        make_model(speak()).transcribe_many([], time_limit=0)


def test_a_stream_that_is_left_makes_room_for_the_next() -> None:
    model = make_model(speak())

    def begin(name: str, stream: Any) -> Any:
        return stream(np.concatenate([tone(name, 30.0)] * 5), language="en", vad="off")

    first = [next(stream).text for _, stream in model.stream_many(["low", "high", "top", "middle"], begin, n_windows=2)]
    assert first == [" low", " high", " top", " middle"]
    assert len(model.inference.encoded) < 12
    assert model.inference.n_open == 0


def test_windows_are_kept_in_journals_and_not_decoded_again(tmp_path: Path) -> None:
    model = make_model(speak())
    options = {"language": "en", "vad": "off", "batch_size": 4, "coverage_guard": False}

    def begin(name: str, stream: Any) -> Any:
        audio = np.concatenate([tone(name, 30.0), tone("low", 30.0)])
        return stream(audio, journal=tmp_path / name, **options)

    texts = [[stream.collect().text for _, stream in model.stream_many(["high", "top"], begin)] for _ in range(2)]
    assert texts == [[" high low", " top low"]] * 2
    assert len(model.inference.encoded) == 4


def test_windows_that_begin_together_are_encoded_together() -> None:
    model = make_model(speak())
    sizes, encode = [], model.inference.encode
    model.inference.encode = lambda mel, positions: sizes.append(len(mel)) or encode(mel, positions)
    list(model.transcribe_many([tone(name, 30.0) for name in ("low", "high", "top")], language="en", vad="off"))
    assert sizes == [3]


def test_recordings_are_opened_as_there_is_room() -> None:
    opened = []

    def sources() -> Any:
        for number in range(9):
            opened.append(number)
            yield tone("low", 20.0)

    outcomes = make_model(speak()).transcribe_many(sources(), language="en", vad="energy", n_windows=2)
    next(outcomes)
    assert len(opened) <= 4
    assert len(list(outcomes)) == 8


def test_no_recordings_have_no_outcomes() -> None:
    assert list(make_model(speak()).transcribe_many([])) == []


def test_cancelling_ends_it_all() -> None:
    model = make_model(speak())
    with pytest.raises(StoppedError):
        list(model.transcribe_many(recordings(), language="en", cancel=lambda: len(model.inference.calls) > 5))
    assert model.inference.n_open == 0


@pytest.mark.parametrize("n_windows", [0, 1.5, "8", True])
def test_options_are_checked_at_once(n_windows: Any) -> None:
    with pytest.raises(OptionError, match="n_windows"):
        make_model(speak()).transcribe_many([], n_windows=n_windows)
