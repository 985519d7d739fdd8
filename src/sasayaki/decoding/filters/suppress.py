"""Filters that ban fixed tokens: at the first position, or always."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.arrays import like
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array
from sasayaki.option_values import parse_suppress_tokens
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer


class _Ban:
    """Adds 0 or -inf to every logit: one pass over the vocabulary however many tokens are banned."""

    def __init__(self, tokens: Iterable[int], n_vocab: int) -> None:
        self.mask = np.zeros(n_vocab, np.float32)
        self.mask[list(tokens)] = -math.inf
        self._native: Array = None

    def apply(self, logits: Array) -> None:
        if self._native is None:
            self._native = like(self.mask, logits)
        logits += self._native


class SuppressBlank:
    """Bans a lone space and the end token as the first sampled token."""

    def __init__(self, tokenizer: Tokenizer, n_vocab: int) -> None:
        self._ban = _Ban([*tokenizer.encode(" "), tokenizer.eot], n_vocab)

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place while nothing has been sampled."""
        if not sampled[0]:  # the rows of one window start together
            self._ban.apply(logits)


class SuppressTokens:
    """Bans a set of tokens at every position."""

    def __init__(self, tokens: Iterable[int], n_vocab: int) -> None:
        self._ban = _Ban(tokens, n_vocab)

    @property
    def mask(self) -> npt.NDArray[np.float32]:
        """What is added to the logits, (n_vocab,): -inf for the banned tokens, else 0."""
        return self._ban.mask

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place."""
        self._ban.apply(logits)


def suppressed_tokens(
    options: DecodingOptions, tokenizer: Tokenizer, n_vocab: int, model_list: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Ids that the options ban, and the tokens that are never text: control and language tokens.

    Args:
        options: `suppress_tokens` is read; -1 stands for `model_list`, or the tokenizer's non-speech tokens, and
            for nothing beside a grammar, which may ask for such symbols.
        tokenizer: gives the control tokens.
        n_vocab: size of the vocabulary.
        model_list: the list that came with the model, if any.

    Raises:
        OptionError: an id lies outside the vocabulary.
    """
    asked = parse_suppress_tokens(options.suppress_tokens)
    banned = {token for token in asked if token >= 0}
    if banned and max(banned) >= n_vocab:
        raise OptionError(f"suppress_tokens holds {max(banned)}, but the model's last token is {n_vocab - 1}")
    if len(banned) < len(set(asked)) and options.grammar is None:
        banned.update(tokenizer.non_speech_tokens if model_list is None else model_list)
    return tuple(sorted(banned | control_tokens(tokenizer)))


def control_tokens(tokenizer: Tokenizer) -> set[int]:
    """Tokens that steer the model and are never part of a transcript; the end token is not among them.

    openai/whisper leaves the language tokens out; a sampled one would stand in its text as `<|de|>`.
    """
    return {*tokenizer.special.control_ids, *tokenizer.special.language_ids}
