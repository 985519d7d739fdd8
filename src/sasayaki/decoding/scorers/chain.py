"""The scorers of a decode."""

from __future__ import annotations

from typing import cast

from sasayaki.decoding.scorers.base import TokenScorer
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer


def build_scorers(options: DecodingOptions, tokenizer: Tokenizer) -> list[TokenScorer]:
    """The scorers that the options ask for; their order is of no account, as they only add."""
    return [cast(TokenScorer, scorer) for scorer in options.scorers]
