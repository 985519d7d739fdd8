"""From attention to scores: how likely each token is spoken at each moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import TOKENS_PER_SECOND

Matrix = npt.NDArray[np.float64]

_FLOOR = 1e-4
"""Attention below this is none."""

_ONSET_LEAD = 0.04
"""Heads are moved so that they look this many seconds behind the start of a word: onsets are never looked at alone."""

_LOUD_DECAY, _SILENT_DECAY = 0.05, 0.5
"""What a token's score loses with each step after a moment that it looked at, in nats: a word goes on until the next
one is looked at, or there is silence."""


def token_scores(weights: npt.ArrayLike, lags: Sequence[float], silence: npt.NDArray[np.float64]) -> Matrix:
    """Scores of the tokens over time: logarithms of attention, against that of the mean token.

    Each head is moved back by its lag, since it looks into a word and not at its start. The mean over heads is taken
    as a probability. A token keeps its score for a while after it was looked at, because attention falls on the
    first part of a word and the moment half-way to the next one says nothing about where the next one starts.

    Args:
        weights: (n_head, n_token, n_audio_ctx) attention of the positions that predict each token.
        lags: of each head, in seconds.
        silence: of each step of 0.02 s that is audio, from 0 for sound to 1 for silence, (n_steps,).

    Returns:
        (n_token, n_steps), in nats; of each step, 0 on the mean over tokens before decay.
    """
    heard = np.asarray(weights, np.float32)[:, :, : len(silence)]
    scores = np.zeros(heard.shape[1:])
    for head, lag in zip(heard, lags, strict=True):
        _add_earlier(scores, _of_one(head), lag - _ONSET_LEAD)
    scores /= len(heard)
    scores += _FLOOR
    np.log(scores, out=scores)
    fading = np.cumsum(_LOUD_DECAY + (_SILENT_DECAY - _LOUD_DECAY) * silence)
    scores -= scores.mean(axis=0)
    scores += fading
    np.maximum.accumulate(scores, axis=1, out=scores)
    scores -= fading
    return scores


def contrast(weights: npt.ArrayLike, n_steps: int, *, filter_width: int = 7) -> Matrix:
    """openai/whisper's matrix: attention standardised over tokens, median-filtered over time, mean over heads.

    Args:
        weights: (n_head, n_token, n_audio_ctx) attention, all tokens of the sequence.
        n_steps: steps of 0.02 s that are audio.
        filter_width: odd number of steps that the median is taken of.

    Returns:
        (n_token, n_steps); where all tokens look alike, 0.
    """
    heard = _of_one(np.asarray(weights, np.float64)[:, :, :n_steps])
    spread = heard.std(axis=1, keepdims=True)
    standard = (heard - heard.mean(axis=1, keepdims=True)) / np.where(spread > 1e-12, spread, 1.0)
    return np.asarray(median_filter(standard, filter_width).mean(axis=0))


def median_filter(values: Matrix, width: int) -> Matrix:
    """Running median over the last axis, reflected at the ends; unchanged where the axis is too short to reflect."""
    half = width // 2
    if values.shape[-1] <= half:
        return values
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(half, half)], mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=-1)
    return np.asarray(np.partition(windows, half, axis=-1)[..., half])


def _of_one(heard: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Weights over the steps that were kept, so that those of each head and token sum to 1."""
    sums = heard.sum(axis=-1, keepdims=True)
    return np.asarray(heard / np.where(sums > 0, sums, 1))


def _add_earlier(total: Matrix, head: npt.NDArray[np.float32], seconds: float) -> None:
    """Add a head's weights, moved to earlier steps, or to later ones; nothing comes in from outside."""
    steps = round(seconds * TOKENS_PER_SECOND)
    n_steps = total.shape[1]
    kept = max(0, n_steps - abs(steps))
    if steps >= 0:
        total[:, :kept] += head[:, n_steps - kept :]
    else:
        total[:, n_steps - kept :] += head[:, :kept]
