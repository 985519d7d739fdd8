"""The filters of a decode, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sasayaki.audio.constants import CHUNK_LENGTH, TOKENS_PER_SECOND
from sasayaki.decoding.filters.base import LogitFilter
from sasayaki.decoding.filters.grammar import FollowGrammar
from sasayaki.decoding.filters.own import OwnFilter
from sasayaki.decoding.filters.patterns import MatchTokens
from sasayaki.decoding.filters.suppress import SuppressBlank, SuppressTokens, suppressed_tokens
from sasayaki.decoding.filters.timestamps import ApplyTimestampRules
from sasayaki.grammar import Grammar
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer


def build_filters(
    options: DecodingOptions, tokenizer: Tokenizer, n_vocab: int, model_list: Sequence[int] | None
) -> list[LogitFilter]:
    """The filters that the options ask for.

    1. `SuppressBlank`: no space and no end as the first token.
    2. `SuppressTokens`: tokens that are never sampled.
    3. `MatchTokens`: text tokens by what they spell.
    4. `FollowGrammar`: text that leads out of a grammar.
    5. Filters of the user's own, in the order given.
    6. `ApplyTimestampRules`, last, because it compares what the others have left.

    Args:
        options: how to decode.
        tokenizer: of the model's vocabulary.
        n_vocab: size of the vocabulary.
        model_list: what `-1` in `suppress_tokens` stands for; None means the tokenizer's non-speech tokens.

    Raises:
        OptionError: a token id lies outside the vocabulary, or a pattern or grammar is not one.
        BackendError: the engine of the grammar is not installed.
    """
    filters: list[LogitFilter] = []
    if options.suppress_blank:
        filters.append(SuppressBlank(tokenizer, n_vocab))
    filters.append(SuppressTokens(suppressed_tokens(options, tokenizer, n_vocab, model_list), n_vocab))
    if options.allow_tokens is not None or options.deny_tokens is not None:
        filters.append(MatchTokens(tokenizer, allow=options.allow_tokens, deny=options.deny_tokens))
    if options.grammar is not None:
        grammar = Grammar.of(options.grammar)
        filters.append(FollowGrammar(tokenizer, grammar, has_timestamps=not options.without_timestamps))
    filters += [OwnFilter(cast(LogitFilter, own)) for own in options.filters]
    if not options.without_timestamps:
        first, until = (_index(time) for time in (options.max_initial_timestamp, options.write_until))
        filters.append(ApplyTimestampRules(tokenizer, first, until))
    return filters


def _index(seconds: float | None) -> int | None:
    return None if seconds is None else round(min(seconds, CHUNK_LENGTH) * TOKENS_PER_SECOND)
