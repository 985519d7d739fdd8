"""Recurrence: high where the same is said again, in other tempos and in noise too, and about 0 for all else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sasayaki.alignment.recurrence import recurrence
from sasayaki.audio import log_mel_spectrogram

RATE = 16_000


def syllable(seed: int, tempo: float = 1.0) -> np.ndarray:
    """0.4 s of three resonances that glide, and a pause of 0.1 s."""
    draw = np.random.default_rng(seed)
    n = round(0.4 * RATE / tempo)
    shares = np.linspace(0, 1, n)
    glides = [(draw.uniform(300, 3500), draw.uniform(300, 3500)) for _ in range(3)]
    tones = [np.sin(2 * np.pi * np.cumsum(start + (end - start) * shares) / RATE) for start, end in glides]
    return np.concatenate([sum(tones) * np.sin(np.pi * shares) / 6, np.zeros(RATE // 10)])


def of(parts: Iterator[np.ndarray], noise: float = 0.003, farthest: float = np.inf) -> float:
    samples = np.concatenate([*parts])
    samples = samples + noise * np.random.default_rng(0).normal(size=len(samples))
    return recurrence(log_mel_spectrogram(samples.astype(np.float32)), farthest)


@pytest.mark.parametrize("times", [4, 10])
def test_what_is_said_again_and_again_recurs(times: int) -> None:
    assert of(syllable(1) for _ in range(times)) > 0.9
    assert of(syllable(1, tempo) for tempo in np.linspace(0.9, 1.1, times)) > 0.4


def test_longer_phrases_recur_too() -> None:
    assert of(syllable(number % 5) for number in range(20)) > 0.9


def test_what_is_said_again_later_than_asked_for_does_not_recur() -> None:
    assert of((syllable(number % 5) for number in range(20)), farthest=3.0) > 0.9  # again after 2.5 s
    assert of((syllable(number % 5) for number in range(20)), farthest=2.0) < 0.1
    assert of((syllable(1) for _ in range(10)), farthest=0.1) == 0.0


@pytest.mark.parametrize(("noise", "least"), [(0.01, 0.8), (0.05, 0.3), (0.1, 0.2)])
def test_noise_does_not_hide_it(noise: float, least: float) -> None:
    assert of((syllable(1) for _ in range(10)), noise) > least


@pytest.mark.parametrize("noise", [1e-4, 0.003, 0.05, 0.1])
def test_what_is_said_once_does_not_recur(noise: float) -> None:
    assert of((syllable(number) for number in range(10)), noise) < 0.1


@pytest.mark.parametrize("seconds", [3, 30])
def test_noise_does_not_recur(seconds: int) -> None:
    assert abs(of(iter([np.zeros(seconds * RATE)]), noise=0.1)) < 0.1


def test_a_tone_is_alike_backwards() -> None:
    tone = 0.1 * np.sin(2 * np.pi * 440 * np.arange(4 * RATE) / RATE)
    assert of(iter([tone])) < 0.1


def test_silence_between_words_is_nothing_that_recurs() -> None:
    pause = np.zeros(RATE)
    assert of((part for number in range(4) for part in (syllable(number), pause)), noise=1e-4) < 0.1


@pytest.mark.parametrize("n_frames", [0, 1, 59, 60, 3000])
def test_short_and_silent_windows_have_none(n_frames: int) -> None:
    assert recurrence(np.zeros((80, n_frames), np.float32)) == 0.0
