"""The values that a search works on, and the protocol of a token decoder. No arrays of an engine, no cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sasayaki.inference.base import Array


@dataclass(frozen=True, slots=True)
class Beam:
    """A hypothesis: what it has sampled so far and at what cost.

    Attributes:
        tokens: sampled tokens, the end token included once it is sampled.
        logprobs: log-probability of each token after the filters.
        raw_logprobs: the same before the filters.
        sum_logprob: sum of `logprobs`.
        bonus: sum of what scorers added to its tokens.
        slot: number of the independent sample, or of the group of beams, that it belongs to.
        stop: why it ended, if it ended otherwise than with the end token; `length` is what a living one would get.
    """

    tokens: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    raw_logprobs: tuple[float, ...] = ()
    sum_logprob: float = 0.0
    slot: int = 0
    bonus: float = 0.0
    stop: str = "length"

    @property
    def sum_score(self) -> float:
        """What a search compares: `sum_logprob` and `bonus`."""
        return self.sum_logprob + self.bonus

    def extend(self, candidate: Candidate, slot: int = 0) -> Beam:
        """This hypothesis with one token more."""
        return Beam(
            (*self.tokens, candidate.token),
            (*self.logprobs, candidate.logprob),
            (*self.raw_logprobs, candidate.raw_logprob),
            self.sum_logprob + candidate.logprob,
            slot,
            self.bonus + candidate.bonus,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible next token of a row."""

    token: int
    logprob: float
    raw_logprob: float
    bonus: float = 0.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """Possible next tokens of every row, best first, on the host.

    Attributes:
        tokens: ids, (n_batch, n_candidate) int64.
        logprobs: log-probabilities after the filters, (n_batch, n_candidate).
        raw_logprobs: log-probabilities before the filters, (n_batch, n_candidate).
        bonuses: what scorers added to `logprobs`, (n_batch, n_candidate); None without scorers.
    """

    tokens: npt.NDArray[np.int64]
    logprobs: npt.NDArray[Any]
    raw_logprobs: npt.NDArray[Any]
    bonuses: npt.NDArray[Any] | None = None

    def scores(self) -> npt.NDArray[np.float64]:
        """What a search adds to the score of a row for each candidate, (n_batch, n_candidate); -inf for none."""
        scores = self.logprobs.astype(np.float64)
        return scores if self.bonuses is None else scores + self.bonuses

    def at(self, row: int, place: int) -> Candidate:
        """One candidate of a row."""
        arrays = (self.tokens, self.logprobs, self.raw_logprobs, *(() if self.bonuses is None else (self.bonuses,)))
        return Candidate(*(array.item(row, place) for array in arrays))

    def row(self, index: int) -> list[Candidate]:
        """The candidates of one row that the filters left possible."""
        arrays = (self.tokens, self.logprobs, self.raw_logprobs, *(() if self.bonuses is None else (self.bonuses,)))
        columns = zip(*(array[index].tolist() for array in arrays), strict=True)
        return [Candidate(*column) for column in columns if column[1] > -np.inf]


@dataclass(frozen=True, slots=True)
class SearchState:
    """A search between two steps.

    Attributes:
        beams: living hypotheses, one for each row.
        sources: for each of them the row of the last step that it continues.
        finished: hypotheses that ended, in the order in which they were accepted.
        is_done: whether the search needs no further step.
    """

    beams: tuple[Beam, ...] = (Beam(),)
    sources: tuple[int, ...] = (0,)
    finished: tuple[Beam, ...] = ()
    is_done: bool = False


class TokenDecoder(Protocol):
    """Chooses the next tokens. Holds no state of its own: a step makes a new SearchState."""

    @property
    def n_candidate(self) -> int | None:
        """How many of the likeliest tokens `propose` takes of each row; None when it chooses otherwise."""
        ...

    def propose(self, logits: Array, state: SearchState) -> Array:
        """Ids of the candidates of each row, (n_batch, n_candidate), from filtered logits (n_batch, n_vocab).

        Where there are scorers, their scores take the place of the logits.
        """
        ...

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """The state after one step."""
        ...

    def finish(self, state: SearchState) -> Sequence[Beam]:
        """The hypotheses to rank; those cut off alive do not end with the end token."""
        ...
