"""Sound levels: nothing in silence and steady noise, something where a tone or speech is."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.alignment.levels import sound_levels
from sasayaki.audio import log_mel_spectrogram
from tests.scripted_model import tone


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_tone_stands_out_of_silence_and_of_noise(noise: float) -> None:
    samples = np.concatenate([np.zeros(16000), tone("middle", 1), np.zeros(16000)])
    samples += noise * np.random.default_rng(0).normal(size=len(samples))
    levels = sound_levels(log_mel_spectrogram(samples.astype(np.float32)))
    assert levels[:95].max() < 0.8
    assert levels[205:].max() < 0.8
    assert levels[105:195].min() > 0.9


@pytest.mark.parametrize("noise", [0.001, 0.01, 0.1])
def test_steady_noise_is_background_however_loud(noise: float) -> None:
    samples = noise * np.random.default_rng(0).normal(size=10 * 16000)
    levels = sound_levels(log_mel_spectrogram(samples.astype(np.float32)))
    assert np.quantile(levels, 0.9) < 1.5


@pytest.mark.parametrize("n_frames", [0, 1, 2, 5])
def test_the_shortest_windows_have_levels(n_frames: int) -> None:
    levels = sound_levels(np.zeros((80, n_frames), np.float32))
    assert levels.shape == (n_frames,)
    assert not levels.any()
