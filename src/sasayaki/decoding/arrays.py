"""Array helpers of the decoder, for NumPy arrays and torch tensors alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_numpy_array, is_torch_array

from sasayaki.inference.base import Array

BLOCK = 128
"""Columns per block of the two-stage `top_k`; near the square root of the vocabulary times k."""


def logsumexp(x: Array) -> Array:
    """Logarithm of the sum of exponentials over the last axis; -inf where everything is -inf."""
    xp = array_namespace(x)
    peak = xp.max(x, axis=-1)
    peak = xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))
    with np.errstate(divide="ignore"):  # log(0) is the -inf that is asked for
        return xp.log(xp.sum(xp.exp(x - peak[..., None]), axis=-1)) + peak


def top_k(x: Array, k: int) -> Array:
    """Columns of the k largest entries of each row of x (n_batch, n_vocab), largest first, (n_batch, k) int64.

    Among equals the lowest column comes first (NumPy) or any (torch).
    """
    k = min(k, x.shape[-1])
    if is_torch_array(x):
        return x.topk(k, dim=-1).indices
    return _numpy_top_k(np.asarray(x), k)


def _numpy_top_k(x: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    """Two stages: an entry among the k largest lies in one of the k blocks with the largest maxima, or the tail."""
    n_block = x.shape[1] // BLOCK
    if n_block <= k:
        return np.argsort(-x, axis=1, kind="stable")[:, :k]
    peaks = x[:, : n_block * BLOCK].reshape(len(x), n_block, BLOCK).max(axis=2)
    blocks = np.sort(np.argsort(-peaks, axis=1, kind="stable")[:, :k], axis=1)
    columns = (blocks[:, :, None] * BLOCK + np.arange(BLOCK)).reshape(len(x), -1)
    tail = np.broadcast_to(np.arange(n_block * BLOCK, x.shape[1]), (len(x), x.shape[1] - n_block * BLOCK))
    columns = np.concatenate([columns, tail], axis=1)
    order = np.argsort(-np.take_along_axis(x, columns, axis=1), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(columns, order, axis=1)


def take_columns(x: Array, columns: Array) -> Array:
    """Entries of x (n_batch, n_vocab) at `columns` (n_batch, k), row by row."""
    if is_torch_array(x):
        return x.gather(-1, columns)
    return np.take_along_axis(x, columns, axis=-1)


def forbid_where(logits: Array, rows: Array, stop: int) -> None:
    """Set the columns before `stop` to -inf, in place, in the rows where `rows` (n_batch,) is true.

    Nothing of a torch tensor is read by the host.
    """
    if is_numpy_array(logits):
        logits[rows, :stop] = -math.inf
    else:
        logits[:, :stop].masked_fill_(rows[:, None], -math.inf)


def like(values: npt.NDArray[Any], x: Array) -> Array:
    """`values` as an array of the kind, the dtype and on the device of x."""
    xp = array_namespace(x)
    if is_numpy_array(x):
        return values.astype(x.dtype)
    return xp.asarray(values, dtype=x.dtype, device=x.device)


def to_numpy(x: Array) -> npt.NDArray[Any]:
    """X on the host, as NumPy."""
    return np.asarray(x) if is_numpy_array(x) else x.detach().cpu().numpy()
