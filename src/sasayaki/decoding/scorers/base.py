"""The protocol of a token scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sasayaki.inference.base import Array


class TokenScorer(Protocol):
    """Raises or lowers the scores by which the search chooses the next token.

    Scores start as log-softmax of the filtered logits, and are not normalised again. So what scorers have added
    to a hypothesis is the plain sum of what they added to its tokens: a bonus that is taken back later leaves
    nothing behind. The log-probabilities in results stay those without it.
    """

    def adjust(self, logprobs: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logprobs` (n_batch, n_vocab) float32 in place, by finite amounts.

        A token that filters forbade is at -inf and stays there; to forbid is a filter's work. `sampled` is as in
        `LogitFilter.apply`.
        """
        ...
