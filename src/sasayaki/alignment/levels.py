"""How far the sound stands out from the background, frame by frame: where a word can be, and where none is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Levels = npt.NDArray[np.float64]

_DB_PER_UNIT = 40.0
"""A log-mel value is (log10 of the power + 4) / 4: one unit is four powers of ten."""

_KNEE_DB, _CAP_DB = 2.5, 20.0
"""What stands out by less counts for nothing, by more for no more."""

_QUIET_SHARE = 0.2
"""Share of the frames of a window that are taken for background."""

_SMOOTH_FRAMES = 3
"""Frames whose mean is taken: steady noise goes up and down by several dB from frame to frame."""

_RANGE_DB = 50.0
"""Nothing quieter than the loudest by this much is heard."""


def sound_levels(mel: npt.ArrayLike) -> Levels:
    """Mean over bands of how much each stands out from its own background, in dB above 2.5, at most 20.

    Speech fills some bands and steady noise all of them, so this finds quiet sounds that the power of a frame hides.

    Args:
        mel: (n_mels, n_frames) log-mel spectrogram of a window, without padding.

    Returns:
        (n_frames,): 0 in silence, about 1.5 where a word starts.
    """
    values = np.asarray(mel, np.float32)
    n_frames = values.shape[1]
    if not n_frames:
        return np.zeros(0)
    beside = np.pad(values, ((0, 0), (_SMOOTH_FRAMES // 2, _SMOOTH_FRAMES // 2)), mode="edge")
    decibels = beside[:, :n_frames] * (_DB_PER_UNIT / _SMOOTH_FRAMES)
    for shift in range(1, _SMOOTH_FRAMES):
        decibels += beside[:, shift : shift + n_frames] * (_DB_PER_UNIT / _SMOOTH_FRAMES)
    loudest = np.quantile(decibels.max(axis=0), 0.99)
    background = np.maximum(np.quantile(decibels, _QUIET_SHARE, axis=1, keepdims=True), loudest - _RANGE_DB)
    return np.asarray(np.clip(decibels - background - _KNEE_DB, 0.0, _CAP_DB).mean(axis=0), np.float64)
