"""Finds phrases in a sequence of tokens, and says what each next token adds to a hypothesis. No arrays, no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

REPEATED = 0.5
"""What a phrase is worth each further time in a window, of what it was worth before. All times together are worth
less than two, so that no loop of phrases pays."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a phrase.

    Attributes:
        phrase: which phrase it is.
        tokens: what it is spelled with; at least one.
        worth: what the whole phrase adds to the score.
        is_joined: whether it has no space before it, so that it may only begin where no word is open.
    """

    phrase: str
    tokens: tuple[int, ...]
    worth: float
    is_joined: bool = False


@dataclass(slots=True, eq=False)
class _Node:
    """A beginning of spellings.

    Attributes:
        children: longer beginnings by their next token.
        begun: each phrase that goes on from here, with its worth times the share of its tokens that are there.
        ended: each phrase that ends here, with its worth.
    """

    children: dict[int, _Node] = field(default_factory=dict)
    begun: dict[str, float] = field(default_factory=dict)
    ended: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hypothesis has come.

    Attributes:
        matches: beginnings of phrases that it ends with, longest first.
        is_word_open: whether a further letter would belong to the last word.
        times: how often it has completed each phrase, for those that it has.
    """

    matches: tuple[_Node, ...] = ()
    is_word_open: bool = False
    times: tuple[tuple[str, int], ...] = ()


class PhraseMatcher:
    """Follows all phrases at once.

    A hypothesis earns the worth of a phrase when it completes it, the n-th time `REPEATED`^(n - 1) of it; once at a
    place, however many spellings of the phrase end there. Until then it has credit: of every phrase in progress the
    worth times the share of its tokens that are there, the largest of these. A token adds what is earned with it and
    the change of the credit. So the sum along any path is what is earned on it, and the credit at its end: a match
    that breaks off pays back its credit, one that turns into another keeps what they share.

    Args:
        spellings: of all phrases.
        leaves_word_open: whether the text of a token ends within a word that a letter would go on with.
    """

    def __init__(self, spellings: Iterable[Spelling], leaves_word_open: Callable[[int], bool]) -> None:
        self._anywhere, self._at_word_start = _Node(), _Node()
        self._leaves_word_open = leaves_word_open
        self._first_gains = lru_cache(maxsize=64)(self._gains_of_beginnings)
        for spelling in spellings:
            self._add(spelling)

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one token more."""
        reached = self._reached(progress, token)
        times = dict(progress.times)
        for phrase in _completed(reached):
            times[phrase] = times.get(phrase, 0) + 1
        matches = tuple(node for node in reached if node.children)
        return Progress(matches, self._leaves_word_open(token), tuple(sorted(times.items())))

    def credit(self, progress: Progress) -> float:
        """What is to be paid back if all matches break off."""
        if not progress.matches:
            return 0.0
        times = dict(progress.times)
        shares = (_discounted(node.begun, times) for node in progress.matches)
        return max(max(share.values()) for share in shares)

    def gains(self, progress: Progress) -> dict[int, float]:
        """What each token that begins or continues a match adds beyond what all others do: the loss of the credit."""
        first = self._first_gains(replace(progress, matches=()))
        return {**first, **self._gains_of(progress, (token for node in progress.matches for token in node.children))}

    def _gains_of_beginnings(self, progress: Progress) -> dict[int, float]:
        return self._gains_of(progress, (token for node in self._roots(progress) for token in node.children))

    def _gains_of(self, progress: Progress, tokens: Iterable[int]) -> dict[int, float]:
        return {token: self._gain(progress, token) for token in tokens}

    def _gain(self, progress: Progress, token: int) -> float:
        earned = _discounted(_completed(self._reached(progress, token)), dict(progress.times))
        return sum(earned.values()) + self.credit(self.advance(progress, token))

    def _reached(self, progress: Progress, token: int) -> list[_Node]:
        """Beginnings and whole spellings that the token ends."""
        nodes = (*progress.matches, *self._roots(progress))
        return [node.children[token] for node in nodes if token in node.children]

    def _roots(self, progress: Progress) -> tuple[_Node, ...]:
        return (self._anywhere,) if progress.is_word_open else (self._anywhere, self._at_word_start)

    def _add(self, spelling: Spelling) -> None:
        node = self._at_word_start if spelling.is_joined else self._anywhere
        for n_before, token in enumerate(spelling.tokens):
            if n_before:
                share = spelling.worth * n_before / len(spelling.tokens)
                node.begun[spelling.phrase] = max(share, node.begun.get(spelling.phrase, 0.0))
            node = node.children.setdefault(token, _Node())
        node.ended[spelling.phrase] = spelling.worth


def _completed(nodes: Iterable[_Node]) -> dict[str, float]:
    """Phrases that end at any of the nodes, and their worth."""
    return {phrase: worth for node in nodes for phrase, worth in node.ended.items()}


def _discounted(worths: Mapping[str, float], times: Mapping[str, int]) -> dict[str, float]:
    """What phrases are worth when they have been completed so often before."""
    return {phrase: worth * REPEATED ** times.get(phrase, 0) for phrase, worth in worths.items()}
