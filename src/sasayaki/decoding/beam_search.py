"""Beam search as openai/whisper does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sasayaki.decoding.arrays import top_k
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.inference.base import Array


class BeamSearchDecoder:
    """Keeps the `beam_size` best hypotheses and collects finished ones.

    The rules, all of them openai/whisper's:

    1. Every row offers its `beam_size` + 1 likeliest tokens.
    2. Offers are walked from the best total score down until `beam_size` hypotheses live on; those on the
       way that end are finished, those behind are dropped.
    3. Finished ones enter the pool, best first, while it holds fewer than round(beam_size * patience);
       none is ever replaced. A full pool ends the search (https://arxiv.org/abs/2204.05424).
    4. At the end, living hypotheses fill the pool up to `beam_size`, best first.

    Tokens of probability zero are no offers, so fewer hypotheses may live; a search without any offer ends.

    Args:
        eot: id of the end token.
        beam_size: hypotheses kept alive.
        patience: how many finished hypotheses to wait for, as a multiple of `beam_size`.
    """

    def __init__(self, eot: int, *, beam_size: int, patience: float = 1.0) -> None:
        self._eot = eot
        self._beam_size = beam_size
        self._max_finished = round(beam_size * patience)

    @property
    def n_candidate(self) -> int:
        """`beam_size` + 1: enough if all rows were the same and one of them ended."""
        return self._beam_size + 1

    def propose(self, logits: Array, state: SearchState) -> Array:
        """The `beam_size` + 1 likeliest tokens of each row."""
        return top_k(logits, self.n_candidate)

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """Keep the best; the order among equals is that of rows, then of candidates."""
        sums = np.array([beam.sum_score for beam in state.beams])
        scores = (sums[:, None] + candidates.scores()).ravel()
        offers = np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > -np.inf)]
        if not len(offers):
            beams = tuple(replace(beam, stop="dead") for beam in state.beams)
            return replace(state, beams=beams, is_done=True)
        living: list[tuple[int, Beam]] = []
        finished = list(state.finished)
        for offer in offers.tolist():
            row, place = divmod(offer, candidates.tokens.shape[1])
            candidate = candidates.at(row, place)
            if candidate.token != self._eot:
                living.append((row, state.beams[row].extend(candidate)))
                if len(living) == self._beam_size:
                    break
            elif len(finished) < self._max_finished:
                finished.append(state.beams[row].extend(candidate))
        return SearchState(
            beams=tuple(beam for _, beam in living),
            sources=tuple(row for row, _ in living),
            finished=tuple(finished),
            is_done=len(finished) >= self._max_finished or not living,
        )

    def finish(self, state: SearchState) -> Sequence[Beam]:
        """The pool, filled up with living hypotheses when it holds fewer than `beam_size`."""
        missing = max(0, self._beam_size - len(state.finished))
        living = sorted(state.beams, key=lambda beam: beam.sum_score, reverse=True)
        return (*state.finished, *living[:missing])
