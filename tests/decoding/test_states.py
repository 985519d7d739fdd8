"""State that follows hypotheses by their tokens."""

from __future__ import annotations

import random

from sasayaki.decoding import states as module
from sasayaki.decoding.states import HypothesisStates

Tokens = tuple[int, ...]


class Counted:
    """States that are the tokens themselves; counts the steps that were taken to reach them."""

    def __init__(self) -> None:
        self.n_steps = 0
        self.states: HypothesisStates[Tokens] = HypothesisStates((), self.advance)

    def advance(self, state: Tokens, token: int) -> Tokens:
        self.n_steps += 1
        return (*state, token)


def test_a_state_follows_its_hypothesis_through_every_reorder() -> None:
    draw = random.Random(1)
    counted = Counted()
    rows: list[Tokens] = [()]
    for _ in range(30):
        assert counted.states.of(rows) == rows
        rows = [(*draw.choice(rows), draw.randrange(3)) for _ in range(4)]


def test_a_step_takes_one_call_for_each_row() -> None:
    """No rescan of the whole history, also when rows split."""
    counted = Counted()
    rows: list[Tokens] = [()]
    for step in range(200):
        counted.states.of(rows)
        assert counted.n_steps <= 2 * step
        rows = [(*rows[0], 0), (*rows[0], 1)]


def test_windows_that_take_turns_find_their_states() -> None:
    counted = Counted()
    for step in range(100):
        for window in range(8):
            rows = [(window, *[0] * step)]
            assert counted.states.of(rows) == rows
    assert counted.n_steps == 8 * 100


def test_a_hypothesis_never_seen_starts_from_the_beginning() -> None:
    assert Counted().states.of([(1, 2, 3)]) == [(1, 2, 3)]


def test_only_the_last_states_are_kept() -> None:
    counted = Counted()
    for number in range(5 * module.N_KEPT):
        counted.states.of([(number,)])
    assert len(counted.states._known) <= 2 * module.N_KEPT
