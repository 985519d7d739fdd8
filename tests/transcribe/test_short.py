"""Tests of windows that are encoded without most of the silence behind their audio."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.requests import Window
from sasayaki.transcribe.short import faults, positions, shortened
from tests.fakes import text, ts
from tests.scripted_model import make_model, sentence, speak, tone

SHORT = TranscribeOptions()


@pytest.mark.parametrize(
    ("n_frames", "context"),
    [(1, 800), (200, 800), (600, 800), (601, 1200), (1000, 1200), (1001, 1600), (1800, 2000), (1801, 3000)],
)
def test_the_context_is_the_shortest_with_two_seconds_of_silence(n_frames: int, context: int) -> None:
    assert shortened(Window(700, 700 + n_frames), SHORT).context == context


@pytest.mark.parametrize("n_frames", [1, 57, 600, 601, 999, 1800])
def test_positions_are_those_of_the_audio_and_runs_of_the_silence_behind_it(n_frames: int) -> None:
    window = shortened(Window(0, n_frames), SHORT)
    kept = positions(window)
    assert len(kept) == window.context // 2
    assert kept[-1] == 1499
    assert (np.diff(kept) > 0).all()
    n_begin = int(np.argmax(np.diff(kept) > 1)) + 1
    assert n_begin >= (n_frames + 1) // 2 + 50
    runs = kept[n_begin:].reshape(-1, 10)
    assert (np.diff(runs, axis=1) == 1).all()
    assert len(runs) >= 5
    assert np.ptp(np.diff(runs[:-1, 0])) <= 1


def test_all_positions_of_a_full_window_are_heard() -> None:
    assert positions(Window(0, 2900)).tolist() == list(range(1500))


@pytest.mark.parametrize("options", [{"short_context": False}, {"compat": True}])
def test_windows_are_full_where_they_are_asked_to_be_or_in_compatible_mode(options: dict[str, Any]) -> None:
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
    assert lengths == [800]


def test_its_language_is_detected_from_the_same_encoding() -> None:
    result, lengths = transcribe(2.0, sentence("hello", 2.0), language=None)
    assert result.language == "en"
    assert lengths == [800]


def test_a_result_of_a_model_that_leans_to_silence_is_decoded_again() -> None:
    """Film music with 6 channels: *Mm-hmm.* with no-speech probability 0.5, nothing with the full context (tiny.en)."""
    window = shortened(Window(0, 200), SHORT)
    heard = DecodingResult(
        audio_features=None, language="en", tokens=(ts(0), ts(1)), text="hm", avg_logprob=-0.9, no_speech_prob=0.41
    )
    assert faults(heard, window, SHORT, ts(0)) == ("short_context",)
    assert faults(replace(heard, no_speech_prob=0.39), window, SHORT, ts(0)) == ()


def test_only_the_last_window_is_short() -> None:
    says = (ts(0), *text(" hello"), ts(30))
    _, lengths = transcribe(62.0, says)
    assert lengths[:2] == [3000, 3000]
    assert lengths[2] == 800


@pytest.mark.parametrize(
    ("says", "name"),
    [
        ((ts(0), *text(" late"), ts(9.0)), "short_context"),
        ((ts(0), *text(" so" * 60), ts(2.0)), "compression_ratio_threshold"),
    ],
)
def test_what_looks_wrong_is_decoded_again_with_the_full_context(says: tuple[int, ...], name: str) -> None:
    result, lengths = transcribe(2.0, says, loop_guard=False)
    assert lengths[:2] == [800, 3000]
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
