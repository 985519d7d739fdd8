"""Sound as small arrays of bytes for a page to draw: waveform, spectrogram, attention."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PEAKS_PER_SECOND = 50
SAMPLES_PER_PEAK = 16_000 // PEAKS_PER_SECOND
FRAMES_PER_COLUMN = 2
"""Log-mel frames in one column of a spectrogram, so that it has the 0.02 s steps of the attention."""

N_LEVELS = 64
"""Levels of brightness: more cannot be told apart by eye, and fewer compress better."""

MEDIAN_WIDTH = 7

Bytes = npt.NDArray[np.uint8]


def waveform_peaks(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    """Lowest and highest sample of each fiftieth of a second, (n_peaks, 2); 127 is the loudest of the recording.

    `samples` are (n_samples,) at 16 kHz.
    """
    whole = np.pad(samples, (0, -len(samples) % SAMPLES_PER_PEAK)).reshape(-1, SAMPLES_PER_PEAK)
    if not len(whole):
        return np.zeros((0, 2), np.int8)
    peaks = np.stack([whole.min(axis=1), whole.max(axis=1)], axis=1)
    loudest = max(float(np.abs(peaks).max()), 1e-6)
    return np.rint(127 * peaks / loudest).astype(np.int8)


def spectrogram_levels(mel: npt.NDArray[np.float32], low: float, high: float) -> Bytes:
    """A log-mel spectrogram (n_mels, n_frames) as levels from 0 at `low` to N_LEVELS - 1 at `high`.

    (n_mels, n_columns); a column is the louder of its frames.
    """
    even = np.pad(mel, ((0, 0), (0, -mel.shape[1] % FRAMES_PER_COLUMN)), constant_values=-np.inf)
    columns = even.reshape(len(mel), -1, FRAMES_PER_COLUMN).max(axis=2)
    shares = np.clip((columns - low) / max(high - low, 1e-6), 0, 1)
    levels: Bytes = np.rint((N_LEVELS - 1) * shares).astype(np.uint8)
    return levels


def attention_levels(weights: npt.NDArray[np.float32]) -> Bytes:
    """Attention (n_tokens, n_columns) as levels from 0 to N_LEVELS - 1, the largest of each token."""
    peaks = weights.max(axis=1, keepdims=True, initial=0)
    levels: Bytes = np.rint((N_LEVELS - 1) * weights / np.maximum(peaks, 1e-9)).astype(np.uint8)
    return levels


def monotone_path(weights: npt.NDArray[np.float32]) -> list[int]:
    """A column for each token, never going back, with the largest sum of attention (n_tokens, n_columns).

    Columns that all tokens look at and lone peaks say nothing: as in openai/whisper's word timing, attention is
    standardised over the tokens and goes through a median filter first.
    """
    if not weights.size:
        return []
    standard = (weights - weights.mean(axis=0)) / np.maximum(weights.std(axis=0), 1e-6)
    gains = _median_filter(standard)
    sums = gains[0]
    came_from = []
    for row in gains[1:]:
        best = np.maximum.accumulate(sums)
        is_new = sums >= best
        came_from.append(np.maximum.accumulate(np.where(is_new, np.arange(len(sums)), 0)))
        sums = best + row
    path = [int(np.argmax(sums))]
    for columns in reversed(came_from):
        path.append(int(columns[path[-1]]))
    return path[::-1]


def _median_filter(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Each entry as the median of the MEDIAN_WIDTH columns around it."""
    padded = np.pad(values, ((0, 0), (MEDIAN_WIDTH // 2, MEDIAN_WIDTH // 2)), mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, MEDIAN_WIDTH, axis=1)
    smooth: npt.NDArray[np.float32] = np.median(around, axis=-1)
    return smooth
