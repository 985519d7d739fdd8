"""Array helpers of the decoder, for NumPy arrays and torch tensors alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_numpy_array, is_torch_array

from sasayaki.inference.base import Array

N_PER_GROUP = 64
"""Columns per group of `top_k`."""

MANY = 1 / 8
"""Share of changed logits from which `norms_before_and_after` starts anew."""


def logsumexp(x: Array) -> Array:
    """Logarithm of the sum of exponentials over the last axis; -inf where everything is -inf."""
    if is_numpy_array(x):
        return _numpy_logsumexp(x)
    peak = _finite_peak(x)
    return array_namespace(x).log((x - peak).exp().sum(-1)) + peak[..., 0]


def norms_before_and_after(before: Array, after: Array) -> tuple[Array, Array]:
    """`logsumexp` of logits (n_batch, n_vocab) before and after filters have changed some of them.

    On NumPy, exponentials, the costly part, are computed once for what has not changed.
    """
    norms = logsumexp(before)
    if not is_numpy_array(before):
        return norms, logsumexp(after)
    changed = np.flatnonzero(before != after)
    if len(changed) > MANY * before.size:
        return norms, logsumexp(after)
    rows = changed // before.shape[1]
    gone, come = (
        np.bincount(rows, np.exp(x.ravel()[changed] - norms[rows]), minlength=len(x)) for x in (before, after)
    )
    is_precise = (gone < 0.5) & (come < 2.0)  # else few digits would be left
    after_norms = norms + np.log1p(np.where(is_precise, come - gone, 0.0)).astype(norms.dtype)
    if not is_precise.all():
        after_norms[~is_precise] = logsumexp(after[~is_precise])
    return norms, after_norms


def _numpy_logsumexp(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Shifts x by its peak only where sums would else be out of range."""
    with np.errstate(divide="ignore", over="ignore"):  # log(0) is the -inf that is asked for
        sums = np.einsum("...j->...", np.exp(x))  # 2 to 3 times as fast as `sum`, and exact to 1e-6
        norms = np.log(sums)
        is_safe = (sums > 1e-30) & (sums < 1e30)
        if not is_safe.all():
            peak = _finite_peak(x)
            norms = np.where(is_safe, norms, np.log(np.exp(x - peak).sum(axis=-1)) + peak[..., 0])
    return np.asarray(norms)


def _finite_peak(x: Array) -> Array:
    """The largest entry of the last axis, which is kept; 0 where it is not finite."""
    xp = array_namespace(x)
    peak = xp.max(x, axis=-1, keepdims=True)
    return xp.where(xp.isfinite(peak), peak, xp.zeros_like(peak))


def top_k(x: Array, k: int) -> Array:
    """Columns of the k largest entries of each row of x (n_batch, n_vocab), largest first, (n_batch, k) int64.

    Among equals the lowest column comes first (NumPy) or any (torch).
    """
    k = min(k, x.shape[-1])
    if is_torch_array(x):
        return x.topk(k, dim=-1).indices
    return _numpy_top_k(np.asarray(x), k)


def _numpy_top_k(x: npt.NDArray[Any], k: int) -> npt.NDArray[np.int64]:
    """Sorts only what reaches the k-th largest of the groups' peaks; at least k entries of a row do."""
    n_batch, n_vocab = x.shape
    n_group = n_vocab // N_PER_GROUP
    if n_group <= k:
        return np.argsort(-x, axis=1, kind="stable")[:, :k]
    # Column c is in group c % n_group: peaks of such groups are found faster than those of neighbours.
    peaks = x[:, : n_group * N_PER_GROUP].reshape(n_batch, N_PER_GROUP, n_group).max(axis=1)
    limits = np.partition(peaks, n_group - k, axis=1)[:, n_group - k]
    places = np.flatnonzero(~(x < limits[:, None]))  # with what is not a number, so that a row is never short
    rows = places // n_vocab
    places = places[np.lexsort((-x.ravel()[places], rows))]  # stable, and leaves the rows in order
    firsts = np.searchsorted(rows, np.arange(n_batch))
    columns: npt.NDArray[np.int64] = places[firsts[:, None] + np.arange(k)] % n_vocab
    return columns


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
    if is_numpy_array(x):
        return values.astype(x.dtype)
    return _send(array_namespace(x).asarray(values, dtype=x.dtype), x)


def indices_like(values: Sequence[int], x: Array) -> Array:
    """`values` as int64 indices into x, on its device."""
    if is_numpy_array(x):
        return np.asarray(values, np.int64)
    xp = array_namespace(x)
    return _send(xp.asarray(values, dtype=xp.int64), x)


def _send(tensor: Array, x: Array) -> Array:
    """A tensor on the device of x; the host does not wait until it is there."""
    return (tensor.pin_memory() if x.is_cuda else tensor).to(x.device, non_blocking=True)


def to_numpy(x: Array) -> npt.NDArray[Any]:
    """X on the host, as NumPy."""
    return np.asarray(x) if is_numpy_array(x) else x.detach().cpu().numpy()


def all_to_numpy(arrays: Sequence[Array]) -> list[npt.NDArray[Any]]:
    """Floats and ids of torch as NumPy arrays, in one transfer: the host waits once."""
    xp = array_namespace(*arrays)
    flat = to_numpy(xp.concat([xp.reshape(xp.astype(x, xp.float64), (-1,)) for x in arrays]))
    parts = np.split(flat, np.cumsum([math.prod(x.shape) for x in arrays])[:-1])
    return [
        part.reshape(tuple(x.shape)).astype(str(x.dtype).removeprefix("torch."))
        for part, x in zip(parts, arrays, strict=True)
    ]
