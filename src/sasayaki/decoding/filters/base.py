"""The protocol of a logit filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sasayaki.inference.base import Array


class LogitFilter(Protocol):
    """Changes the logits of the next token."""

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logits` (n_batch, n_vocab) float32 in place; -inf forbids a token.

        `sampled` holds the tokens that each row has sampled so far, without prompt, start sequence and prefix.
        A hypothesis is known by these tokens alone, so state kept under them follows it through every reorder.
        """
        ...
