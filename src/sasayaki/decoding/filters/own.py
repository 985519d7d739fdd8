"""A filter of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from sasayaki.decoding.filters.base import LogitFilter
from sasayaki.decoding.own import OwnCode
from sasayaki.inference.base import Array


class OwnFilter:
    """Applies a filter of the user's and checks what it did.

    Args:
        inner: the filter.
    """

    def __init__(self, inner: LogitFilter) -> None:
        self.name = type(inner).__name__
        self._apply = OwnCode("filter", self.name, inner.apply)

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Let the filter change `logits` (n_batch, n_vocab) in place; errors are those of `OwnCode`."""
        self._apply(logits, sampled)
