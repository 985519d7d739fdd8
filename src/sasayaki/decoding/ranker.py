"""Ranking of the finished hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.decoding.search import Beam


@dataclass(frozen=True, slots=True)
class MaximumLikelihoodRanker:
    """Scores a hypothesis by its log-probability, with the bonus of scorers, over a length penalty.

    Attributes:
        eot: id of the end token, which does not count as length.
        length_penalty: None divides by the length; a number is the exponent of ((5 + length) / 6)
            (https://arxiv.org/abs/1609.08144, equation 14).
        length_reward: what each token adds to the log-probability, which is then not divided; None divides.
    """

    eot: int
    length_penalty: float | None = None
    length_reward: float | None = None

    def score(self, beam: Beam) -> float:
        """The score of one hypothesis; an empty one counts as one token long."""
        return self.score_at(beam.sum_score, len(beam.tokens) - (beam.tokens[-1:] == (self.eot,)))

    def score_at(self, total: float, length: int) -> float:
        """The score of a hypothesis with this sum and so many tokens, the end token not counted."""
        if self.length_reward is not None:
            return total + self.length_reward * length
        if self.length_penalty is None:
            return total / max(length, 1)
        return float(total / ((5 + length) / 6) ** self.length_penalty)

    def rank(self, beams: Sequence[Beam]) -> list[Beam]:
        """Best first; among equals the earlier one."""
        return sorted(beams, key=self.score, reverse=True)
