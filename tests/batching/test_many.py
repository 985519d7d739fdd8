"""Tests of many recordings side by side: each as it would be alone, in order, whatever the others are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.errors import AudioError, OptionError, StoppedError
from tests.fakes import text, ts
from tests.scripted_model import make_model, speak, tone

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


@pytest.mark.parametrize("n_windows", [0, 1.5, None, True])
def test_options_are_checked_at_once(n_windows: Any) -> None:
    with pytest.raises(OptionError, match="n_windows"):
        make_model(speak()).transcribe_many([], n_windows=n_windows)
