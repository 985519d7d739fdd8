"""Tests of windows that are encoded without most of the silence behind their audio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sasayaki.options import TranscribeOptions
from sasayaki.transcribe.requests import Window
from sasayaki.transcribe.short import shortened
from tests.fakes import text, ts
from tests.scripted_model import make_model, sentence, speak, tone

SHORT = TranscribeOptions(short_context=True)


@pytest.mark.parametrize(
    ("n_frames", "context"),
    [(1, 1000), (200, 1000), (500, 1000), (501, 1500), (1000, 1500), (1001, 2000), (2000, 2500), (2001, 3000)],
)
def test_the_context_has_five_seconds_of_silence_or_more_in_steps_of_five(n_frames: int, context: int) -> None:
    assert shortened(Window(700, 700 + n_frames), SHORT).context == context


@pytest.mark.parametrize("options", [{}, {"short_context": True, "compat": True}])
def test_windows_are_full_unless_asked_for(options: dict[str, Any]) -> None:
    window = Window(0, 200)
    assert shortened(window, TranscribeOptions(**options)) == window


def transcribe(seconds: float, says: Any = None, **options: Any) -> Any:
    model = make_model(speak({"low": says} if says else None))
    given = {"language": "en", "vad": "off", "short_context": True, "beam_size": None, "temperature": 0.0} | options
    result = model.transcribe(tone("low", seconds), **given)
    return result, [mel.shape[-1] for mel in model.inference.encoded]


def test_a_short_recording_is_encoded_once_and_short() -> None:
    result, lengths = transcribe(2.0, sentence("hello", 2.0))
    assert result.text == " hello"
    assert lengths == [1000]


def test_only_the_last_window_is_short() -> None:
    says = (ts(0), *text(" hello"), ts(30))
    _, lengths = transcribe(62.0, says)
    assert lengths[:2] == [3000, 3000]
    assert lengths[2] == 1000


@pytest.mark.parametrize(
    ("says", "name"),
    [
        ((ts(0), *text(" late"), ts(9.0)), "short_context"),
        ((ts(0), *text(" so" * 60), ts(2.0)), "compression_ratio_threshold"),
    ],
)
def test_what_looks_wrong_is_decoded_again_with_the_full_context(says: tuple[int, ...], name: str) -> None:
    result, lengths = transcribe(2.0, says, loop_guard=False)
    assert lengths[:2] == [1000, 3000]
    assert result.segments[0].attempts[0].failed == (name,)
    assert len(result.segments[0].attempts) == 2


def test_cuts_with_contexts_of_different_lengths_are_decoded_side_by_side() -> None:
    silence = np.zeros(16000 * 6, np.float32)
    audio = np.concatenate([tone("low", 20.0), silence, tone("high", 8.0), silence, silence, tone("middle", 28.0)])
    model = make_model(speak())
    options = {"language": "en", "vad": "energy", "coverage_guard": False, "short_context": True}
    together = model.transcribe(audio, batch_size=4, **options)
    assert together.text == " low high middle"
    assert len({mel.shape[-1] for mel in model.inference.encoded}) > 1
