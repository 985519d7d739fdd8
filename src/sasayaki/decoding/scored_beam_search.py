"""Beam search that looks at the final scores while it runs: other ways to accept ends, and other times to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from array_api_compat import array_namespace

from sasayaki.decoding.arrays import top_k
from sasayaki.decoding.diverse_beams import Offer, Selection, select
from sasayaki.decoding.ranker import MaximumLikelihoodRanker
from sasayaki.decoding.search import Beam, Candidate, Candidates, SearchState
from sasayaki.inference.base import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamRules:
    """How a `ScoredBeamSearchDecoder` departs from the reference; the defaults do not.

    Attributes:
        beam_size: hypotheses kept alive.
        max_finished: size of the pool of finished hypotheses.
        n_steps: most tokens that a hypothesis can have.
        stop: `pool` ends when the pool is full, first come, first served. The others keep the best in the pool and
            end when no living hypothesis can pass the best finished one: `bound` compares the highest score that it
            could still reach, `estimate` the score that it has.
        ends: which ends are accepted. `seen`: those met before `beam_size` hypotheses live on. `top`: only those
            among the `beam_size` best offers (Filter-Ends, https://arxiv.org/abs/2309.10299). `all`: that of every
            row, however unlikely.
        lookahead: a finished hypothesis counts for the end of the search so many steps later
            (after Min-Lookahead, same paper).
        n_group: groups of beams, see `diverse_beams`.
        diversity: what a token loses for each earlier group that has taken it in the same step.
    """

    beam_size: int
    max_finished: int
    n_steps: int
    stop: str = "pool"
    ends: str = "seen"
    lookahead: int = 0
    n_group: int = 1
    diversity: float = 0.0


class ScoredBeamSearchDecoder:
    """Beam search by `BeamRules`.

    With `stop="bound"`, no scorers and a pool of at least `beam_size`, the best hypothesis is never worse than that
    of `BeamSearchDecoder` with the same offers: both keep the same hypotheses alive, and this one stops only when
    nothing better can come.

    Args:
        eot: id of the end token.
        ranker: gives the final scores.
        rules: what to do.
    """

    def __init__(self, eot: int, ranker: MaximumLikelihoodRanker, rules: BeamRules) -> None:
        self._eot = eot
        self._ranker = ranker
        self._rules = rules

    @property
    def n_candidate(self) -> int | None:
        """`beam_size` + 1, unless the end token is always among the candidates."""
        return None if self._rules.ends == "all" else self._rules.beam_size + 1

    def propose(self, logits: Array, state: SearchState) -> Array:
        """The `beam_size` + 1 likeliest tokens of each row, and the end token where all ends are accepted."""
        tokens = top_k(logits, self._rules.beam_size + 1)
        if self._rules.ends != "all":
            return tokens
        xp = array_namespace(tokens)
        return xp.concat([tokens, xp.full_like(tokens[:, :1], self._eot)], axis=-1)

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """Keep the best; the order among equals is that of rows, then of candidates."""
        offers = [
            Offer(row, beam.extend(candidate, beam.slot))
            for row, beam in enumerate(state.beams)
            for candidate in _distinct(candidates.row(row))
        ]
        if not offers:
            beams = tuple(replace(beam, stop="dead") for beam in state.beams)
            return replace(state, beams=beams, is_done=True)
        rules = self._rules
        chosen = select(offers, self._eot, rules.beam_size, n_group=rules.n_group, diversity=rules.diversity)
        finished = self._pool(state.finished, self._accepted(chosen, offers))
        living = tuple(offer.beam for offer in chosen.living)
        return SearchState(
            beams=living,
            sources=tuple(offer.row for offer in chosen.living),
            finished=finished,
            is_done=not living or self._is_over(living, finished),
        )

    def finish(self, state: SearchState) -> Sequence[Beam]:
        """The pool, filled up with living hypotheses when it holds fewer than `beam_size`."""
        missing = max(0, self._rules.beam_size - len(state.finished))
        living = sorted(state.beams, key=lambda beam: beam.sum_score, reverse=True)
        return (*state.finished, *living[:missing])

    def _accepted(self, chosen: Selection, offers: Sequence[Offer]) -> list[Beam]:
        """The ends of this step that may enter the pool, best first."""
        if self._rules.ends == "seen":
            return [offer.beam for offer in chosen.ended]
        ranked = sorted(offers, key=lambda offer: offer.beam.sum_score, reverse=True)
        if self._rules.ends == "top":
            ranked = ranked[: self._rules.beam_size]
        return [offer.beam for offer in ranked if offer.beam.tokens[-1] == self._eot]

    def _pool(self, finished: Sequence[Beam], ended: Sequence[Beam]) -> tuple[Beam, ...]:
        known = {beam.tokens for beam in finished}
        pool = [*finished, *{beam.tokens: beam for beam in ended if beam.tokens not in known}.values()]
        if self._rules.stop != "pool":
            return tuple(self._ranker.rank(pool)[: self._rules.max_finished])
        return tuple(pool) if self._rules.lookahead else tuple(pool[: self._rules.max_finished])

    def _is_over(self, living: Sequence[Beam], finished: Sequence[Beam]) -> bool:
        n_steps = len(living[0].tokens)
        ripe = [beam for beam in finished if len(beam.tokens) + self._rules.lookahead <= n_steps]
        if self._rules.stop == "pool":
            return len(ripe) >= self._rules.max_finished
        if not ripe:
            return False
        best = max(self._ranker.score(beam) for beam in ripe)
        return all(self._within_reach(beam) <= best for beam in living)

    def _within_reach(self, beam: Beam) -> float:
        """The score that a living hypothesis has, or the highest one that it can still get."""
        score = self._ranker.score_at
        now = score(beam.sum_score, len(beam.tokens))
        if self._rules.stop == "estimate":
            return now
        return max(now, score(beam.sum_score, self._rules.n_steps))


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """Without the second mention of a token."""
    return list({candidate.token: candidate for candidate in reversed(candidates)}.values())[::-1]
