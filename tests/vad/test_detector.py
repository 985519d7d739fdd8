"""Voice activity in recordings, noise and silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sasayaki.audio import load_audio
from sasayaki.vad import detector
from sasayaki.vad.detector import FRAME_SECONDS, speech_probabilities

DATA = Path(__file__).parents[1] / "data"
RATE = 16000


def noise(seconds: float, rms: float) -> np.ndarray:
    return np.random.default_rng(0).normal(0, rms, round(seconds * RATE)).astype(np.float32)


def speech_in(background: np.ndarray) -> np.ndarray:
    """2 s of background, 1.9 s of speech, and background again."""
    audio = background.copy()
    speech = load_audio(DATA / "en_lj_LJ001-0002.mp3")
    audio[2 * RATE : 2 * RATE + len(speech)] += speech
    return audio


@pytest.mark.parametrize("kind", ["silero", "energy"])
@pytest.mark.parametrize("rms", [0.0, 0.0005, 0.003])
def test_speech_is_likelier_than_what_stands_beside_it(kind: str, rms: float) -> None:
    found = speech_probabilities(speech_in(noise(6, rms)), kind)
    assert len(found) == -(-6 * RATE // 512)
    assert found[: round(1.9 / FRAME_SECONDS)].max() < 0.5
    assert found[round(4.1 / FRAME_SECONDS) :].max() < 0.5
    assert (found[round(2.2 / FRAME_SECONDS) : round(3.7 / FRAME_SECONDS)] > 0.5).mean() > 0.7


@pytest.mark.parametrize("kind", ["silero", "energy"])
@pytest.mark.parametrize("rms", [0.0, 0.00001, 0.001, 0.1])
def test_steady_noise_and_silence_are_no_speech(kind: str, rms: float) -> None:
    assert speech_probabilities(noise(5, rms), kind).max() < 0.5


@pytest.mark.parametrize("kind", ["silero", "energy"])
def test_blocks_of_any_length_give_what_the_whole_gives(kind: str) -> None:
    audio = speech_in(noise(5, 0.001))
    cuts = [0, 1, 511, 512, 513, 5000, 5000, 40_000, 79_999]
    blocks = (audio[begin:end] for begin, end in zip(cuts, [*cuts[1:], len(audio)], strict=True))
    np.testing.assert_allclose(speech_probabilities(blocks, kind), speech_probabilities(audio, kind), atol=1e-3)


@pytest.mark.parametrize("kind", ["auto", "silero", "energy"])
def test_a_recording_without_samples_has_no_frames(kind: str) -> None:
    assert speech_probabilities(np.zeros(0, np.float32), kind).shape == (0,)


@pytest.mark.parametrize(("is_installed", "expected"), [(True, "silero"), (False, "energy")])
def test_auto_takes_energy_where_the_weights_are_missing(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool, expected: str
) -> None:
    audio = speech_in(noise(5, 0.001))
    monkeypatch.setattr(detector, "has_silero", lambda: is_installed)
    np.testing.assert_array_equal(speech_probabilities(audio, "auto"), speech_probabilities(audio, expected))
