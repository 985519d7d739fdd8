"""Voice activity in recordings, noise and silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sasayaki.audio import load_audio
from sasayaki.audio.samples import WaveformSamples
from sasayaki.vad import detector
from sasayaki.vad.detector import FRAME_SECONDS, Listener

DATA = Path(__file__).parents[1] / "data"
RATE = 16000


def speech_probabilities(audio: np.ndarray, kind: str) -> np.ndarray:
    listener = Listener(WaveformSamples(audio), kind)
    return listener.read(0, listener.n_frames)


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


@pytest.mark.parametrize("gain_db", [-20, -40, -50, -60])
@pytest.mark.parametrize("name", ["en_lj_LJ001-0002.mp3", "en_jfk.mp3"])
def test_quiet_recordings_have_as_much_speech_as_loud_ones(name: str, gain_db: float) -> None:
    audio = load_audio(DATA / name)
    loud = speech_probabilities(audio, "silero") > 0.5
    quiet = speech_probabilities(audio * np.float32(10 ** (gain_db / 20)), "silero") > 0.5
    assert (loud == quiet).mean() > (0.95 if gain_db > -60 else 0.8)


def test_a_click_does_not_hide_quiet_speech() -> None:
    audio = load_audio(DATA / "en_jfk.mp3") * np.float32(0.003)
    audio[3 * RATE : 3 * RATE + 20] = 0.9
    assert (speech_probabilities(audio, "silero") > 0.5).mean() > 0.6


@pytest.mark.parametrize("rms", [0.0, 1e-6, 1e-4])
def test_frames_gain_40_db_at_most(rms: float) -> None:
    frames = noise(5.12, rms).reshape(-1, 512)
    np.testing.assert_allclose(detector.raised(frames), frames * 100, rtol=1e-5)


def test_frames_that_are_loud_enough_stay_as_they_are() -> None:
    frames = noise(5.12, 0.1).reshape(-1, 512)
    assert detector.raised(frames) is frames


@pytest.mark.parametrize("kind", ["silero", "energy"])
def test_the_order_of_questions_does_not_matter(kind: str) -> None:
    samples = WaveformSamples(np.tile(speech_in(noise(6, 0.001)), 8))
    once = Listener(samples, kind).read(0, 1500)
    listener = Listener(samples, kind)
    assert (once.shape, listener.n_frames) == ((1500,), 1500)
    for start, end in ((1200, 1300), (0, 3), (5, 5), (900, 1100), (1490, 1800)):
        np.testing.assert_allclose(listener.read(start, end), once[start:end], atol=1e-6)


def test_no_more_is_computed_than_is_asked_for() -> None:
    checks: list[int] = []
    listener = Listener(WaveformSamples(noise(120, 0.01)), "silero", check=lambda: checks.append(1))
    listener.read(0, 1000)
    assert len(checks) == 1


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
