"""Bookkeeping of ragged rows on a rectangular cache: pure NumPy, shared by the engines.

A cache has one line per row and one column per token fed so far. Rows of different lengths share it because
tokens are padded on the left, each row knows which columns hold its own tokens, and a mask hides the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference.base import Row

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where the tokens of all rows are, during one call of a session.

    Attributes:
        tokens: new tokens, (n_batch, n_new), padded on the left with token 0.
        positions: position of each new token in its row, (n_batch, n_new); 0 at the padding.
        sources: line of the previous cache that each row takes over, (n_batch,). A row that starts empty
            takes any line: the mask hides what is in it.
        mask: which columns a new token sees, (n_batch, n_new, n_past + n_new): those of its own row up to
            itself. Padding sees itself, so that no softmax is over nothing.
        read: columns of `tokens` whose logits are wanted, (n_batch, n_read).
        is_own: which columns hold tokens of the row, (n_batch, n_past + n_new).
        lengths: tokens in each row, the new ones included, (n_batch,).
    """

    tokens: Ints
    positions: Ints
    sources: Ints
    mask: Bools
    read: Ints
    is_own: Bools
    lengths: Ints

    @property
    def n_past(self) -> int:
        """Columns of the cache before this call; 0 says that nothing of an earlier cache is in use."""
        return int(self.mask.shape[2] - self.tokens.shape[1])

    @classmethod
    def empty(cls) -> RowLayout:
        """The layout before the first call: no rows."""
        none = np.zeros((0, 0), np.int64)
        hidden = np.zeros((0, 0), np.bool_)
        return cls(none, none, none[:, 0:0].reshape(0), hidden[:, :, None], none, hidden, none.reshape(0))

    def advance(self, rows: Sequence[Row], dims: ModelDimensions) -> RowLayout:
        """The layout of the next call, in which `rows` continue rows of this one or start empty.

        Raises:
            ValueError: no rows; a row without tokens or reads; a source, token or read position that does not
                exist; a row that would grow past n_text_ctx.
        """
        _check(rows, len(self.lengths), dims)
        if all(row.source is not None and len(row.tokens) == len(row.read) == 1 for row in rows):
            return self._step(rows, dims)
        return self._call(rows, dims)

    def _step(self, rows: Sequence[Row], dims: ModelDimensions) -> RowLayout:
        """What `_call` does, sooner: each row goes on with one token."""
        n_batch = len(rows)
        sources = np.array([row.source for row in rows], np.int64)
        lengths = self.lengths[sources] + 1
        _check_lengths(lengths, dims)
        is_own = np.ones((n_batch, self.is_own.shape[1] + 1), np.bool_)
        is_own[:, :-1] = self.is_own[sources]
        return RowLayout(
            tokens=np.array([row.tokens for row in rows], np.int64),
            positions=(lengths - 1)[:, None],
            sources=sources,
            mask=is_own[:, None],
            read=np.zeros((n_batch, 1), np.int64),
            is_own=is_own,
            lengths=lengths,
        )

    def _call(self, rows: Sequence[Row], dims: ModelDimensions) -> RowLayout:
        n_batch, n_new = len(rows), max(len(row.tokens) for row in rows)
        counts = np.array([len(row.tokens) for row in rows], np.int64)
        is_continued = np.array([row.source is not None for row in rows])
        sources = np.array([row.source or 0 for row in rows], np.int64)

        if is_continued.any():
            past_lengths = np.where(is_continued, self.lengths[sources], 0)
            past = self.is_own[sources] & is_continued[:, None]
        else:
            past_lengths = np.zeros(n_batch, np.int64)
            past = np.zeros((n_batch, 0), np.bool_)
            sources = np.arange(n_batch)
        lengths = past_lengths + counts
        _check_lengths(lengths, dims)

        columns = np.arange(n_new)
        padding = n_new - counts[:, None]
        is_own = np.concatenate([past, columns >= padding], axis=1)
        return RowLayout(
            tokens=_padded_tokens(rows, n_new),
            positions=(past_lengths[:, None] + columns - padding) * (columns >= padding),
            sources=sources,
            mask=_causal_mask(is_own, n_new),
            read=_read_columns(rows, n_new),
            is_own=is_own,
            lengths=lengths,
        )


def _check(rows: Sequence[Row], n_previous: int, dims: ModelDimensions) -> None:
    if not rows:
        raise ValueError("expected at least one row, got none; close the session when all rows are done")
    for index, row in enumerate(rows):
        if not row.tokens:
            raise ValueError(f"row {index} has no new tokens; feed at least one, or leave the row out")
        if min(row.tokens) < 0 or max(row.tokens) >= dims.n_vocab:
            raise ValueError(f"row {index} has a token outside 0 … {dims.n_vocab - 1}: {row.tokens}")
        if row.source is not None and not 0 <= row.source < n_previous:
            raise ValueError(f"row {index} continues row {row.source}, but the previous call had {n_previous} rows")
        n_tokens = len(row.tokens)
        if not row.read or min(row.read) < -n_tokens or max(row.read) >= n_tokens:
            raise ValueError(f"row {index} must read at positions within its {n_tokens} new tokens, got {row.read}")


def _check_lengths(lengths: Ints, dims: ModelDimensions) -> None:
    if lengths.max() > dims.n_text_ctx:
        longest = int(lengths.argmax())
        raise ValueError(
            f"row {longest} would have {lengths[longest]} tokens, but the model's text context holds "
            f"{dims.n_text_ctx}; stop the row or shorten its prompt"
        )


def _padded_tokens(rows: Sequence[Row], n_new: int) -> Ints:
    return np.array([(0,) * (n_new - len(row.tokens)) + row.tokens for row in rows], np.int64)


def _read_columns(rows: Sequence[Row], n_new: int) -> Ints:
    """Columns counted from the left of the padded tokens; short rows repeat their last one."""
    n_read = max(len(row.read) for row in rows)
    padded = [row.read + (row.read[-1],) * (n_read - len(row.read)) for row in rows]
    read = np.array(padded, np.int64)
    counts = np.array([[len(row.tokens)] for row in rows])
    return np.where(read < 0, read + n_new, read + n_new - counts)


def _causal_mask(is_own: Bools, n_new: int) -> Bools:
    n_columns = is_own.shape[1]
    query = np.arange(n_columns - n_new, n_columns)[:, None]
    column = np.arange(n_columns)
    visible: Bools = (is_own[:, None, :] & (column <= query)) | (column == query)
    return visible
