"""The scorer that favours given phrases, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from unicodedata import east_asian_width

import numpy as np

from sasayaki.decoding.arrays import indices_like, like
from sasayaki.decoding.scorers.phrase_matcher import PhraseMatcher, Progress, Spelling
from sasayaki.decoding.states import HypothesisStates
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array
from sasayaki.text.tokenizer import Tokenizer

_UNSPACED = (range(0x0E00, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800))
"""Thai and Lao, Burmese, Khmer: code points of letters that are written without spaces between words, as are the wide
ones of Chinese and Japanese."""


class FavourPhrases:
    """Adds a bonus to every token that continues a phrase, and takes it back when the match breaks off.

    What a hypothesis has gained at its end is the worth of the phrases that it completed, less each further time, see
    `PhraseMatcher`; a phrase that is cut off by the end of the decode keeps what it had. Only tokens that spell text
    continue a match; a timestamp and the end of the text break it off.

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
        self._matcher = _matcher(text_only, tuple(phrases.items()), frozenset(banned))
        self._states = HypothesisStates(Progress(), self._matcher.advance)
        self._gains: dict[Progress, _Gains] = {}

    def adjust(self, logprobs: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logprobs` (n_batch, n_vocab) in place."""
        for row, progress in enumerate(self._states.of(sampled)):
            credit = self._matcher.credit(progress)
            if credit:
                logprobs[row] -= credit
            gains = self._gains_of(progress, logprobs)
            logprobs[row, gains.tokens] += gains.amounts

    def _gains_of(self, progress: Progress, logprobs: Array) -> _Gains:
        """The gains as arrays of the engine, made once."""
        if progress not in self._gains:
            gains = self._matcher.gains(progress)
            amounts = like(np.array(list(gains.values())), logprobs)
            self._gains[progress] = _Gains(indices_like(list(gains), logprobs), amounts)
        return self._gains[progress]


@dataclass(frozen=True, slots=True)
class _Gains:
    """What tokens add beyond what all others do: ids (n,) int64 and amounts (n,)."""

    tokens: Array
    amounts: Array


def spellings(tokenizer: Tokenizer, phrase: str) -> dict[tuple[int, ...], bool]:
    """How a phrase is written: as given, with its first letter upper, and all upper; after a space and not.

    A phrase given with capitals is never spelled in lower case: to favour `comfyui` leads away from `ComfyUI`, and
    `may` is not the month. A space that is a token of its own is left out.

    Returns:
        Tokens of each spelling, and whether it has no space before it.
    """
    space = tuple(tokenizer.encode(" "))
    found: dict[tuple[int, ...], bool] = {}
    for text in (phrase, phrase[0].upper() + phrase[1:], phrase.upper()):
        spaced, joined = (tuple(tokenizer.encode(each)) for each in (" " + text, text))
        if spaced[: len(space)] != space:
            found[spaced] = False
        found[joined] = True
    return found


def leaves_word_open(text: str) -> bool:
    """Whether a letter behind this text would belong to its last word; in scripts without spaces there are none."""
    last = text[-1:]
    if not last.isalnum() or east_asian_width(last) in "WF":
        return False
    return not any(ord(last) in block for block in _UNSPACED)


def has_word(text: str) -> bool:
    """Whether a text is more than punctuation; a part of a character may be a part of a word."""
    return any(character.isalnum() or character == "\ufffd" for character in text)


@lru_cache(maxsize=8)
def _matcher(tokenizer: Tokenizer, phrases: tuple[tuple[str, float], ...], banned: frozenset[int]) -> PhraseMatcher:
    """The matcher of all phrases, made once for equal ones: it serves every window and temperature."""
    found: list[Spelling] = []
    for phrase, weight in phrases:
        written = spellings(tokenizer, phrase)
        possible = {tokens: is_joined for tokens, is_joined in written.items() if not banned.intersection(tokens)}
        if not possible:
            raise OptionError(
                f"phrases holds {phrase!r}, which cannot be written, because suppress_tokens bans a part of it; "
                "ban fewer tokens, or spell it as it may be written"
            )
        worth = weight * min(map(len, possible))
        found += [Spelling(phrase, tokens, worth, is_joined) for tokens, is_joined in possible.items()]

    @cache
    def text_of(token: int) -> str:
        return tokenizer.token_bytes(token).decode("utf-8", "replace") if token < tokenizer.eot else ""

    return PhraseMatcher(found, lambda token: leaves_word_open(text_of(token)), lambda token: has_word(text_of(token)))
