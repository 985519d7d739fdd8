"""Finds phrases in a sequence of tokens, and says what each next token adds to a hypothesis. No arrays, no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

REPEATED = 0.5
"""What a phrase is worth each further time in a window, of what it was worth before; right behind itself it is worth
nothing. All times together are worth less than two, so that no loop of phrases pays."""


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
class _Match:
    """A beginning of spellings that a hypothesis ends with.

    Attributes:
        node: the beginning.
        repeated: phrases that it began right behind; these are worth nothing here.
    """

    node: _Node
    repeated: frozenset[str]

    def step(self, token: int) -> _Match | None:
        """The match with one token more; None if it breaks off."""
        child = self.node.children.get(token)
        return None if child is None else _Match(child, self.repeated)

    @property
    def begun(self) -> dict[str, float]:
        """As that of the node, without what is repeated."""
        return {phrase: share for phrase, share in self.node.begun.items() if phrase not in self.repeated}

    @property
    def ended(self) -> dict[str, float]:
        """As that of the node, without what is repeated."""
        return {phrase: worth for phrase, worth in self.node.ended.items() if phrase not in self.repeated}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a hypothesis has come.

    Attributes:
        matches: beginnings of phrases that it ends with, longest first.
        is_word_open: whether a further letter would belong to the last word.
        times: how often it has earned each phrase, for those that it has.
        said: phrases that it has completed with no word since.
    """

    matches: tuple[_Match, ...] = ()
    is_word_open: bool = False
    times: tuple[tuple[str, int], ...] = ()
    said: frozenset[str] = frozenset()


class PhraseMatcher:
    """Follows all phrases at once.

    A hypothesis earns the worth of a phrase when it completes it, the n-th time `REPEATED`^(n - 1) of it, and nothing
    when no word stands between it and the time before; once at a place, however many spellings of the phrase end
    there. Until then it has credit: of every phrase in progress the worth times the share of its tokens that are
    there, the largest of these. A token adds what is earned with it and the change of the credit. So the sum along
    any path is what is earned on it, and the credit at its end: a match that breaks off pays back its credit, one
    that turns into another keeps what they share.

    Args:
        spellings: of all phrases.
        leaves_word_open: whether the text of a token ends within a word that a letter would go on with.
        has_word: whether the text of a token has a part of a word, and not punctuation alone.
    """

    def __init__(
        self,
        spellings: Iterable[Spelling],
        leaves_word_open: Callable[[int], bool],
        has_word: Callable[[int], bool],
    ) -> None:
        self._anywhere, self._at_word_start = _Node(), _Node()
        self._leaves_word_open = leaves_word_open
        self._has_word = has_word
        self._firsts: dict[str, set[int]] = {}
        self._plain_gains = lru_cache(maxsize=2)(self._gains_of_all_beginnings)
        for spelling in spellings:
            self._add(spelling)

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one token more."""
        reached = self._reached(progress, token)
        times = dict(progress.times)
        for phrase in _completed(reached):
            times[phrase] = times.get(phrase, 0) + 1
        matches = tuple(match for match in reached if match.node.children)
        said = frozenset(phrase for match in reached for phrase in match.node.ended)
        if not self._has_word(token):
            said |= progress.said
        return Progress(matches, self._leaves_word_open(token), tuple(sorted(times.items())), said)

    def credit(self, progress: Progress) -> float:
        """What is to be paid back if all matches break off."""
        if not progress.matches:
            return 0.0
        times = dict(progress.times)
        shares = (share for match in progress.matches for share in _discounted(match.begun, times).values())
        return max(shares, default=0.0)

    def gains(self, progress: Progress) -> dict[int, float]:
        """What each token that begins or continues a match adds beyond what all others do: the loss of the credit."""
        known = {*progress.said, *dict(progress.times)}
        changed = (token for phrase in known for token in self._firsts[phrase])
        plain = self._plain_gains(Progress(is_word_open=progress.is_word_open))
        return {
            **plain,
            **self._gains_of(replace(progress, matches=()), changed),
            **self._gains_of(progress, _nexts(progress.matches)),
        }

    def _gains_of_all_beginnings(self, progress: Progress) -> dict[int, float]:
        return self._gains_of(progress, _nexts(self._beginnings(progress)))

    def _gains_of(self, progress: Progress, tokens: Iterable[int]) -> dict[int, float]:
        return {token: self._gain(progress, token) for token in tokens}

    def _gain(self, progress: Progress, token: int) -> float:
        earned = _discounted(_completed(self._reached(progress, token)), dict(progress.times))
        return sum(earned.values()) + self.credit(self.advance(progress, token))

    def _reached(self, progress: Progress, token: int) -> list[_Match]:
        """Beginnings and whole spellings that the token ends."""
        grown = (match.step(token) for match in (*progress.matches, *self._beginnings(progress)))
        return [match for match in grown if match is not None]

    def _beginnings(self, progress: Progress) -> list[_Match]:
        """The empty beginnings that a match may start from."""
        roots = (self._anywhere,) if progress.is_word_open else (self._anywhere, self._at_word_start)
        return [_Match(root, progress.said) for root in roots]

    def _add(self, spelling: Spelling) -> None:
        self._firsts.setdefault(spelling.phrase, set()).add(spelling.tokens[0])
        node = self._at_word_start if spelling.is_joined else self._anywhere
        for n_before, token in enumerate(spelling.tokens):
            if n_before:
                share = spelling.worth * n_before / len(spelling.tokens)
                node.begun[spelling.phrase] = max(share, node.begun.get(spelling.phrase, 0.0))
            node = node.children.setdefault(token, _Node())
        node.ended[spelling.phrase] = spelling.worth


def _nexts(matches: Iterable[_Match]) -> Iterable[int]:
    """Tokens that lead on from any of the matches."""
    return (token for match in matches for token in match.node.children)


def _completed(matches: Iterable[_Match]) -> dict[str, float]:
    """Phrases that end with any of the matches, and their worth."""
    return {phrase: worth for match in matches for phrase, worth in match.ended.items()}


def _discounted(worths: Mapping[str, float], times: Mapping[str, int]) -> dict[str, float]:
    """What phrases are worth when they have been completed so often before."""
    return {phrase: worth * REPEATED ** times.get(phrase, 0) for phrase, worth in worths.items()}
