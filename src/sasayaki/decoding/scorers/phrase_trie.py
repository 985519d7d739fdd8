"""Finds phrases in a sequence of tokens, and says what each next token adds to a hypothesis. No arrays, no text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a phrase.

    Attributes:
        phrase: which phrase it is.
        tokens: what it is spelled with; at least one.
        worth: what the whole phrase adds to the score.
    """

    phrase: str
    tokens: tuple[int, ...]
    worth: float


class PhraseTrie:
    """All spellings in a trie with failure links (Aho and Corasick 1975, https://doi.org/10.1145/360825.360855).

    A state is the longest end of a token sequence that begins a spelling; state 0 is the empty one. Each state has
    two values:

    - `completed`: the worth of every phrase that ends here. A phrase counts once at a place, however many of its
      spellings end there.
    - `pending`: the credit for what has been begun: of every spelling in progress its worth times the share of its
      tokens that are there; the largest of these.

    A token that leads from state s to state t adds `completed[t] + pending[t] - pending[s]`. Along any path the
    pending credits cancel, so its sum is the worth of all completed phrases, and the credit that is still pending
    at its end. A match that breaks off pays its credit back; one that grows into another keeps what they share.
    """

    def __init__(self, spellings: Iterable[Spelling]) -> None:
        self._children: list[dict[int, int]] = [{}]
        self._fallback: list[int] = [0]
        self._ends: list[dict[str, float]] = [{}]
        self.pending: list[float] = [0.0]
        self.completed: list[float] = [0.0]
        for spelling in spellings:
            self._add(spelling)
        self._link()

    def advance(self, state: int, token: int) -> int:
        """The state after one token more."""
        while state and token not in self._children[state]:
            state = self._fallback[state]
        return self._children[state].get(token, 0)

    def gains(self, state: int) -> dict[int, float]:
        """What each token adds that leads to a state other than 0. All others add `-pending[state]`."""
        found: dict[int, int] = {}
        for place in self._chain(state):
            found = {**self._children[place], **found}
        pending = self.pending
        return {token: self.completed[to] + pending[to] - pending[state] for token, to in found.items()}

    def _add(self, spelling: Spelling) -> None:
        """Grow the trie; credits of the states on the way are those of this spelling or better."""
        state, length = 0, len(spelling.tokens)
        for n_matched, token in zip(count(1), spelling.tokens, strict=False):
            if token not in self._children[state]:
                self._children[state][token] = len(self._children)
                self._children.append({})
                self._fallback.append(0)
                self._ends.append({})
                self.pending.append(0.0)
                self.completed.append(0.0)
            state = self._children[state][token]
            if n_matched < length:
                self.pending[state] = max(self.pending[state], spelling.worth * n_matched / length)
        self._ends[state][spelling.phrase] = max(spelling.worth, self._ends[state].get(spelling.phrase, 0.0))

    def _link(self) -> None:
        """Set the failure links, shallow states first, and hand values up along them."""
        queue = list(self._children[0].values())
        for state in queue:
            fallback = self._fallback[state]
            self.pending[state] = max(self.pending[state], self.pending[fallback])
            self._ends[state] = {**self._ends[fallback], **self._ends[state]}
            self.completed[state] = sum(self._ends[state].values())
            for token, child in self._children[state].items():
                self._fallback[child] = self.advance(fallback, token)
                queue.append(child)

    def _chain(self, state: int) -> Iterable[int]:
        """The state and all shorter ends of it that begin a spelling, the empty one last."""
        while state:
            yield state
            state = self._fallback[state]
        yield 0
