"""Waveforms, spectrograms and attention as bytes, and the path through attention."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest

from sasayaki.inspect.pictures import (
    N_LEVELS,
    SAMPLES_PER_PEAK,
    attention_levels,
    monotone_path,
    spectrogram_levels,
    waveform_peaks,
)


def test_peaks_are_the_lowest_and_highest_sample_of_each_fiftieth_of_a_second() -> None:
    samples = np.zeros(3 * SAMPLES_PER_PEAK, np.float32)
    samples[SAMPLES_PER_PEAK + 5] = -0.5
    samples[SAMPLES_PER_PEAK + 9] = 0.25
    assert waveform_peaks(samples).tolist() == [[0, 0], [-127, 64], [0, 0]]


def test_the_last_stretch_may_be_short_and_the_recording_empty() -> None:
    assert waveform_peaks(np.ones(SAMPLES_PER_PEAK + 1, np.float32)).shape == (2, 2)
    assert waveform_peaks(np.zeros(0, np.float32)).shape == (0, 2)


def test_a_column_of_a_spectrogram_is_the_louder_of_two_frames() -> None:
    mel = np.array([[0.0, 1.0, 2.0], [-1.0, -9.0, 9.0]], np.float32)
    levels = spectrogram_levels(mel, 0.0, 2.0)
    assert levels.tolist() == [[round((N_LEVELS - 1) / 2), N_LEVELS - 1], [0, N_LEVELS - 1]]


def test_a_flat_spectrogram_has_levels_too() -> None:
    assert spectrogram_levels(np.zeros((2, 4), np.float32), 0.0, 0.0).tolist() == [[0, 0], [0, 0]]


def test_attention_is_scaled_to_the_peak_of_each_token() -> None:
    weights = np.array([[0.0, 0.5, 1.0], [0.0, 0.02, 0.01], [0.0, 0.0, 0.0]], np.float32)
    assert attention_levels(weights).tolist() == [[0, 32, 63], [0, 63, 32], [0, 0, 0]]


def test_the_path_follows_a_diagonal_through_noise() -> None:
    """Lone columns that every token looks at, as real heads have them, do not hold it up."""
    draw = np.random.default_rng(0)
    weights = 0.05 * draw.random((12, 240), np.float32)
    for token in range(12):
        weights[token, 20 * token : 20 * token + 14] += 0.5
    weights[:, [33, 150, 201]] += 2.0
    path = np.array(monotone_path(weights))
    assert (np.abs(path - (20 * np.arange(12) + 7)) <= 7).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_path_is_the_best_of_all_that_never_go_back(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sasayaki.inspect.pictures.MEDIAN_WIDTH", 1)
    weights = np.random.default_rng(seed).random((4, 6), np.float32)
    gains = (weights - weights.mean(axis=0)) / weights.std(axis=0)

    def total(path: tuple[int, ...]) -> float:
        return float(sum(gains[row, column] for row, column in enumerate(path)))

    best = max(combinations_with_replacement(range(6), 4), key=total)
    assert total(tuple(monotone_path(weights))) == pytest.approx(total(best), abs=1e-5)


def test_no_token_has_no_path() -> None:
    assert monotone_path(np.zeros((0, 10), np.float32)) == []
