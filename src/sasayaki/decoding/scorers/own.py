"""A scorer of the user's own."""

from __future__ import annotations

from collections.abc import Sequence

from sasayaki.decoding.own import OwnCode
from sasayaki.decoding.scorers.base import TokenScorer
from sasayaki.inference.base import Array


class OwnScorer:
    """Lets a scorer of the user's change scores and checks what it did.

    Args:
        inner: the scorer.
    """

    def __init__(self, inner: TokenScorer) -> None:
        self._adjust = OwnCode("scorer", type(inner).__name__, inner.adjust)

    def adjust(self, logprobs: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Let the scorer change `logprobs` (n_batch, n_vocab) in place; errors are those of `OwnCode`."""
        self._adjust(logprobs, sampled)
