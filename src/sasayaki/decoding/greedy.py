"""Greedy decoding and sampling: every sample goes its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace, is_torch_array

from sasayaki.decoding.arrays import like
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.inference.base import Array


class GreedyDecoder:
    """Takes the likeliest token, or draws `n_group` independent samples at a temperature.

    Args:
        eot: id of the end token.
        temperature: 0 takes the likeliest token; above 0, logits are divided by it before drawing.
            Log-probabilities are always those at temperature 1.
        n_group: number of samples.
        seed: makes the draws repeatable. They depend on the seed, the sample's number and the position alone.
        n_steps: most tokens that a sample can have.
    """

    def __init__(self, eot: int, *, temperature: float, n_group: int, seed: int | None, n_steps: int) -> None:
        self._eot = eot
        self._temperature = temperature
        self._n_group = n_group
        seeds = np.random.SeedSequence(seed).spawn(n_group)
        self._draws = np.stack([np.random.default_rng(own).random(n_steps) for own in seeds])

    @property
    def n_candidate(self) -> int | None:
        """One, unless tokens are drawn."""
        return 1 if self._temperature == 0 else None

    def propose(self, logits: Array, state: SearchState) -> Array:
        """The one token of each row; in the first step, when all samples share a row, one for each sample."""
        if self._temperature == 0:
            return array_namespace(logits).argmax(logits, axis=-1)[:, None]
        if not state.beams[0].tokens:
            draws = self._draws[None, :, 0]
        else:
            draws = np.array([[self._draws[beam.slot, len(beam.tokens)]] for beam in state.beams])
        return _sample(logits, self._temperature, draws)

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """Extend every sample by its token; those that reach the end, or have no token left to them, leave."""
        living: list[tuple[int, Beam]] = []
        finished = list(state.finished)
        for row, beam in enumerate(state.beams):
            offers = candidates.row(row)
            if not offers:
                finished.append(replace(beam, stop="dead"))
            for slot, candidate in enumerate(offers, start=beam.slot):
                grown = beam.extend(candidate, slot)
                if candidate.token == self._eot:
                    finished.append(grown)
                else:
                    living.append((row, grown))
        return SearchState(
            beams=tuple(beam for _, beam in living),
            sources=tuple(row for row, _ in living),
            finished=tuple(finished),
            is_done=not living,
        )

    def finish(self, state: SearchState) -> Sequence[Beam]:
        """All samples, in the order of their numbers."""
        return sorted((*state.finished, *state.beams), key=lambda beam: beam.slot)


def _sample(logits: Array, temperature: float, draws: np.ndarray) -> Array:
    """Invert the cumulative distribution of each row of `logits` at `draws` (n_batch, n_sample) in [0, 1)."""
    xp = array_namespace(logits)
    # The largest is 0 before it is divided, so no temperature is too small.
    shifted = xp.astype(logits, xp.float64) - xp.astype(xp.max(logits, axis=-1), xp.float64)[:, None]
    weights = xp.exp(shifted / temperature)
    sums = weights.cumsum(-1)  # the array API's own name for it is newer than the libraries we accept
    targets = like(draws, sums) * sums[:, -1:]
    inner = sums[:, :-1]  # without the total, so that no rounding leads past the vocabulary
    if is_torch_array(sums):
        return xp.searchsorted(inner.contiguous(), targets, side="right")
    return np.stack([np.searchsorted(s, t, side="right") for s, t in zip(inner, targets, strict=True)])
