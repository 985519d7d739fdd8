"""Recurrence: how much a sound repeats itself, as a word does that is said again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_FRAMES = 2
"""Frames of the spectrogram whose mean is taken: 20 ms are fine enough, and need a quarter of the memory."""

_PIECE, _APART = 20, 10
"""Frames of 20 ms in a piece, the length of a short word, and the least that lies between the starts of two."""


def recurrence(mel: npt.ArrayLike) -> float:
    """How much each piece of a sound, 0.4 s long, is like the piece elsewhere in it that is most like it.

    Pieces are compared by the cosine between their spectrograms, each band without its mean, so steady noise is like
    nothing; loud pieces count for more. A word said again by the same speaker has 0.8 and more, speech that says one
    thing after the other 0.5, speech in noise less (docs/log.md).

    Args:
        mel: (n_mels, n_frames) log-mel spectrogram, 100 frames a second, without padding.

    Returns:
        0 to 1; 0 for what is shorter than 0.6 s.
    """
    values = np.asarray(mel, np.float32)
    n_frames = values.shape[1] // _FRAMES
    n_pieces = n_frames - _PIECE + 1
    if n_pieces <= _APART:
        return 0.0
    frames = values[:, : n_frames * _FRAMES].reshape(len(values), n_frames, _FRAMES).mean(axis=2)
    frames -= frames.mean(axis=1, keepdims=True)
    products = frames.T @ frames
    alike = np.zeros((n_pieces, n_pieces), np.float32)
    for place in range(_PIECE):
        alike += products[place : place + n_pieces, place : place + n_pieces]
    sizes = np.sqrt(np.maximum(np.diagonal(alike), 1e-12))
    alike /= sizes[:, None]
    alike /= sizes
    for place in range(n_pieces):
        alike[place, max(place - _APART + 1, 0) : place + _APART] = 0.0
    loudness = np.convolve(np.square(np.maximum(frames, 0.0)).sum(axis=0), np.ones(_PIECE), "valid")
    return max(float(alike.max(axis=1) @ loudness / max(float(loudness.sum()), 1e-12)), 0.0)
