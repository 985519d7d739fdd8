"""Recurrence: how much a sound repeats itself, as a word does that is said again and again."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import FRAMES_PER_SECOND

_FRAMES = 2
"""Frames of the spectrogram whose mean is taken: 20 ms are fine enough, and need a quarter of the memory."""

_PIECE, _APART = 20, 10
"""Frames of 20 ms in a piece, the length of a short word, and the least that lies between the starts of two."""

_TINY = 1e-9
"""Keeps silence from being divided by."""


def recurrence(mel: npt.ArrayLike, farthest: float = math.inf) -> float:
    """How much more a sound is like other parts of itself than like itself played backwards.

    Each piece of 0.4 s is compared with all others in reach by the cosine between their spectrograms, each band without
    its mean, and the best is taken: `forwards`; and with the same ones played backwards: `backwards`. Louder pieces
    count for more. The second says what is alike by chance, be it noise, hum or speech, for what is said again is never
    said backwards. The recurrence is (forwards - backwards) / (1 - backwards).

    Args:
        mel: (n_mels, n_frames) log-mel spectrogram, 100 frames a second, without padding.
        farthest: seconds from the start of a piece to that of another one that it is compared with, at most.

    Returns:
        1 for an exact repetition, 0.2 and more for what is said again and again, about 0 for other speech and
        noise, at least -1; 0 for what is shorter than 0.6 s (docs/search.md).
    """
    values = np.asarray(mel, np.float32)
    n_frames = values.shape[1] // _FRAMES
    n_pieces = n_frames - _PIECE + 1
    if n_pieces <= _APART:
        return 0.0
    frames = values[:, : n_frames * _FRAMES].reshape(len(values), n_frames, _FRAMES).mean(axis=2)
    frames -= frames.mean(axis=1, keepdims=True)
    products = frames.T @ frames
    sizes = np.sqrt(np.convolve(np.diagonal(products), np.ones(_PIECE), "valid") + _TINY)
    loudness = np.convolve(np.square(np.maximum(frames, 0.0)).sum(axis=0), np.ones(_PIECE), "valid") + _TINY
    reach = int(min(farthest * FRAMES_PER_SECOND / _FRAMES, n_pieces))
    forwards, backwards = (
        float(np.average(_best(products, order, sizes, reach), weights=loudness))
        for order in (range(_PIECE), range(_PIECE - 1, -1, -1))
    )
    return max((forwards - backwards) / (1 - backwards + _TINY), -1.0)


def _best(
    products: npt.NDArray[np.float32], order: range, sizes: npt.NDArray[np.float64], reach: int
) -> npt.NDArray[np.float32]:
    """The cosine of each piece and the one in reach most like it, whose frames are taken in this order, (n_pieces,)."""
    n_pieces = len(sizes)
    alike = np.zeros((n_pieces, n_pieces), np.float32)
    for place, other in enumerate(order):
        alike += products[place : place + n_pieces, other : other + n_pieces]
    alike /= sizes[:, None]
    alike /= sizes
    for place in range(n_pieces):
        alike[place, max(place - _APART + 1, 0) : place + _APART] = 0.0
        alike[place, : max(place - reach, 0)] = alike[place, place + reach + 1 :] = 0.0
    best: npt.NDArray[np.float32] = alike.max(axis=1)
    return best
