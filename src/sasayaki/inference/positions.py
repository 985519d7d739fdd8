"""Positions of the encoder that a window leaves out, and how those beside them stand for them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def log_shares(positions: Ints) -> Floats:
    """What is added to the scores of attention to each position, float32, shaped like `positions`.

    A position stands for itself and for half of those left out on either side, up to the next one that is kept. The log
    of their number makes softmax count it so often, as if all of them were there and alike ("proportional attention" of
    merged tokens, https://arxiv.org/abs/2210.09461, section 3). All are 0 where nothing is left out.

    Args:
        positions: (n_audio, n_ctx), increasing along the last axis.
    """
    gaps = np.diff(positions, axis=-1, prepend=positions[:, :1] - 1, append=positions[:, -1:] + 1)
    return np.log((gaps[:, 1:] + gaps[:, :-1]) / 2).astype(np.float32)


def checked_positions(positions: npt.ArrayLike | None, n_audio: int, n_ctx: int, most: int) -> Ints:
    """The positions as (n_audio, n_ctx) int64; the first ones for None.

    Args:
        positions: as `Inference.encode` takes them.
        n_audio: windows.
        n_ctx: positions that each has.
        most: n_audio_ctx of the model.

    Raises:
        ValueError: another shape, or positions that do not increase from 0 on or pass the model's.
    """
    if positions is None:
        return np.broadcast_to(np.arange(n_ctx), (n_audio, n_ctx))
    given = np.asarray(positions, np.int64)
    if given.shape != (n_audio, n_ctx):
        raise ValueError(f"expected positions of shape {(n_audio, n_ctx)}, one for two frames, got {given.shape}")
    if n_audio and (given.min() < 0 or given.max() >= most or (np.diff(given) <= 0).any()):
        raise ValueError(f"expected positions that increase from 0 or more to at most {most - 1}, got {given.tolist()}")
    return given
