"""The scorers of a decode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sasayaki.decoding.filters.suppress import suppressed_tokens
from sasayaki.decoding.scorers.base import TokenScorer
from sasayaki.decoding.scorers.own import OwnScorer
from sasayaki.decoding.scorers.phrases import FavourPhrases
from sasayaki.options import DecodingOptions
from sasayaki.phrases import parse_phrases
from sasayaki.text.tokenizer import Tokenizer


def build_scorers(
    options: DecodingOptions, tokenizer: Tokenizer, n_vocab: int, model_list: Sequence[int] | None
) -> list[TokenScorer]:
    """The scorers that the options ask for; their order is of no account, as they only add.

    Args:
        options: how to decode.
        tokenizer: of the model's vocabulary.
        n_vocab: size of the vocabulary.
        model_list: what `-1` in `suppress_tokens` stands for; None means the tokenizer's non-speech tokens.

    Raises:
        OptionError: a phrase cannot be spelled with the tokens that may be sampled.
    """
    scorers: list[TokenScorer] = [OwnScorer(cast(TokenScorer, scorer)) for scorer in options.scorers]
    phrases = parse_phrases(options.phrases)
    if phrases:
        banned = suppressed_tokens(options, tokenizer, n_vocab, model_list)
        scorers.append(FavourPhrases(tokenizer, phrases, banned))
    return scorers
