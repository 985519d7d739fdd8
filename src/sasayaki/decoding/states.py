"""State of each hypothesis for filters and scorers, found by the tokens that it has sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

State = TypeVar("State")

N_KEPT = 1024
"""States that are kept; far more than the rows of a step, so that windows decoded together find theirs."""


class HypothesisStates(Generic[State]):
    """The state that each hypothesis has reached, token by token.

    A state is a function of the tokens alone, so it follows a hypothesis through every reorder, and windows may
    share it. One step takes one call of `advance` for each row; a hypothesis that was not seen before starts from
    `begin`.

    Args:
        begin: the state before the first token.
        advance: gives the state after one token more; must not change the state that it gets.
    """

    def __init__(self, begin: State, advance: Callable[[State, int], State]) -> None:
        self._begin = begin
        self._advance = advance
        self._known: dict[tuple[int, ...], State] = {}

    def of(self, sampled: Sequence[tuple[int, ...]]) -> list[State]:
        """The state of each row, from the tokens that `LogitFilter.apply` gets."""
        states = [self._find(tokens) for tokens in sampled]
        self._known.update(zip(sampled, states, strict=True))
        if len(self._known) > 2 * N_KEPT:
            self._known = dict(list(self._known.items())[-N_KEPT:])
        return states

    def _find(self, tokens: tuple[int, ...]) -> State:
        known = self._known
        if tokens in known:
            return known[tokens]
        parent = tokens[:-1]
        state, rest = (known[parent], tokens[-1:]) if parent in known else (self._begin, tokens)
        for token in rest:
            state = self._advance(state, token)
        return state
