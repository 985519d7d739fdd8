"""The scorer that favours given phrases, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sasayaki.decoding.arrays import indices_like, like
from sasayaki.decoding.scorers.phrase_trie import PhraseTrie, Spelling
from sasayaki.decoding.states import HypothesisStates
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array
from sasayaki.text.tokenizer import Tokenizer


class FavourPhrases:
    """Adds a bonus to every token that continues a phrase, and takes it back when the match breaks off.

    What a hypothesis has gained at its end is the worth of the phrases that it completed, see `PhraseTrie`; a phrase
    that is cut off by the end of the decode keeps what it had. Only tokens that spell text continue a match; a
    timestamp and the end of the text break it off.

    Args:
        tokenizer: of the model's vocabulary.
        phrases: text of each phrase to its weight: what each token of the phrase's shortest spelling adds to the
            score, in nats. Its other spellings are worth as much in all, however many tokens they have.
        banned: tokens that are never sampled.

    Raises:
        OptionError: a phrase cannot be spelled without banned tokens.
    """

    def __init__(self, tokenizer: Tokenizer, phrases: Mapping[str, float], banned: Collection[int] = ()) -> None:
        text_only = replace(tokenizer, language=None, task=None)
        self._trie = _trie(text_only, tuple(phrases.items()), frozenset(banned))
        self._states = HypothesisStates(0, self._trie.advance)
        self._gains: dict[int, _Gains] = {}

    def adjust(self, logprobs: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logprobs` (n_batch, n_vocab) in place."""
        for row, state in enumerate(self._states.of(sampled)):
            pending = self._trie.pending[state]
            if pending:
                logprobs[row] -= pending
            gains = self._gains_of(state, logprobs)
            logprobs[row, gains.tokens] += gains.amounts

    def _gains_of(self, state: int, logprobs: Array) -> _Gains:
        """The gains of a state as arrays of the engine, made once."""
        if state not in self._gains:
            gains = self._trie.gains(state)
            amounts = np.array(list(gains.values())) + self._trie.pending[state]
            self._gains[state] = _Gains(indices_like(list(gains), logprobs), like(amounts, logprobs))
        return self._gains[state]


@dataclass(frozen=True, slots=True)
class _Gains:
    """What tokens add beyond what all others do: ids (n,) int64 and amounts (n,)."""

    tokens: Array
    amounts: Array


def spellings(tokenizer: Tokenizer, phrase: str) -> Iterator[tuple[int, ...]]:
    """Tokens of a phrase at the start of a word and elsewhere: as given, with its first letter upper, and all upper.

    A phrase given with capitals is never spelled in lower case: to favour `comfyui` leads away from `ComfyUI`, and
    `may` is not the month. A space that is a token of its own is left out.
    """
    space = tuple(tokenizer.encode(" "))
    for text in dict.fromkeys((phrase, phrase[0].upper() + phrase[1:], phrase.upper())):
        for before in (" ", ""):
            tokens = tuple(tokenizer.encode(before + text))
            yield tokens[len(space) :] if tokens[: len(space)] == space else tokens


@lru_cache(maxsize=8)
def _trie(tokenizer: Tokenizer, phrases: tuple[tuple[str, float], ...], banned: frozenset[int]) -> PhraseTrie:
    """The trie of all phrases, made once for equal ones: it serves every window and temperature."""
    found: list[Spelling] = []
    for phrase, weight in phrases:
        possible = [tokens for tokens in spellings(tokenizer, phrase) if not banned.intersection(tokens)]
        if not possible:
            raise OptionError(
                f"phrases holds {phrase!r}, which cannot be written, because suppress_tokens bans a part of it; "
                "ban fewer tokens, or spell it as it may be written"
            )
        worth = weight * min(len(tokens) for tokens in possible)
        found += [Spelling(phrase, tokens, worth) for tokens in dict.fromkeys(possible)]
    return PhraseTrie(found)
