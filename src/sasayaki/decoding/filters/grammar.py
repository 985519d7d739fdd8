"""The filter that keeps the text of a window within a grammar. The engine is llguidance, an extra."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, is_numpy_array

from sasayaki.decoding.states import HypothesisStates
from sasayaki.errors import BackendError, OptionError
from sasayaki.grammar import Grammar
from sasayaki.inference.base import Array
from sasayaki.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from llguidance import LLExecutor, LLMatcher, LLTokenizer

HEAD = '%llguidance {"no_forcing": true}\nstart: / ?/ @text'
"""Stands before every grammar: Whisper puts a space before the text of most languages. Without forcing, text that
only one way leads on from may still be cut into any tokens, such as the one that the model knows the word by."""


class FollowGrammar:
    """Bans text that leads out of a grammar, and the end before the grammar is complete.

    The text may begin with one space more than the grammar says. Timestamps do not count: they may stand between any
    two text tokens. When the grammar is complete and allows no further text, only they and the end are left.

    Args:
        tokenizer: of the model's vocabulary.
        grammar: what the text that is sampled must look like.
        has_timestamps: whether timestamps may be sampled; they would be a way around the grammar where they are not
            kept in order.

    Raises:
        BackendError: the grammar engine is not installed.
        OptionError: the grammar is not one.
    """

    def __init__(self, tokenizer: Tokenizer, grammar: Grammar, *, has_timestamps: bool = True) -> None:
        self._eot = tokenizer.eot
        self._has_timestamps = has_timestamps
        begin = _begin(replace(tokenizer, language=None, task=None), grammar).deep_copy()  # threads share the original
        self._matchers = HypothesisStates(begin, self._advance)

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place."""
        matchers = self._matchers.of(sampled)
        distinct = list({id(matcher): matcher for matcher in matchers}.values())  # rows that differ in timestamps alone
        allowed = dict(zip(map(id, distinct), _allowed(distinct, self._eot), strict=True))
        for row, matcher in enumerate(matchers):
            _keep_only(logits[row, : self._eot + 1], allowed[id(matcher)])
        if not self._has_timestamps:
            logits[:, self._eot + 1 :] = -math.inf

    def _advance(self, matcher: LLMatcher, token: int) -> LLMatcher:
        if token >= self._eot:
            return matcher
        grown = matcher.deep_copy()
        grown.consume_token(token)
        return grown


def _keep_only(logits: Array, tokens: npt.NDArray[np.int64]) -> None:
    """Forbid all but these tokens in `logits` (n_text + 1,), in place."""
    columns = tokens if is_numpy_array(logits) else array_namespace(logits).asarray(tokens, device=logits.device)
    kept = logits[columns]
    logits[:] = -math.inf
    logits[columns] = kept


def _allowed(matchers: Sequence[LLMatcher], eot: int) -> list[npt.NDArray[np.int64]]:
    """What may come next for each matcher; nothing at all behind text that the grammar does not know."""
    from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask_par

    words = allocate_token_bitmask(len(matchers), eot + 1)
    fill_next_token_bitmask_par(_executor(os.getpid()), [(matcher, row) for row, matcher in enumerate(matchers)], words)
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=eot + 1, bitorder="little").view(np.bool_)
    bits[:, eot] = [matcher.is_accepting() for matcher in matchers]
    bits[[matcher.is_error() for matcher in matchers]] = False
    return [np.flatnonzero(row) for row in bits]


@lru_cache(maxsize=1)
def _executor(process: int) -> LLExecutor:
    """Threads that fill masks; they do not follow into a forked process."""
    from llguidance import LLExecutor

    return LLExecutor()


@lru_cache(maxsize=32)
def _begin(tokenizer: Tokenizer, grammar: Grammar) -> LLMatcher:
    """The engine at the beginning of a grammar, made once for equal ones."""
    vocabulary = _vocabulary(tokenizer)
    from llguidance import LLMatcher

    rules = json.dumps({"grammars": [{"lark_grammar": HEAD}, {**_rules(grammar), "name": "text"}]})
    matcher = LLMatcher(vocabulary, rules, log_level=0)
    if matcher.is_error():
        raise OptionError(f"grammar is not a valid {grammar.kind} grammar: {matcher.get_error().strip()}")
    return matcher


def _rules(grammar: Grammar) -> dict[str, Any]:
    """The grammar in the engine's form."""
    from llguidance import LLMatcher

    if grammar.kind == "regex":
        made: dict[str, Any] = json.loads(LLMatcher.grammar_from_regex(grammar.source))["grammars"][0]
        return made
    if grammar.kind == "lark":
        return {"lark_grammar": grammar.source}
    return {"json_schema": json.loads(grammar.source)}


@lru_cache(maxsize=4)
def _vocabulary(tokenizer: Tokenizer) -> LLTokenizer:
    """The vocabulary in the engine's form: the text tokens and the end."""
    try:
        from llguidance import LLTokenizer, TokenizerWrapper
    except ImportError as error:
        raise BackendError('grammars need the package llguidance: pip install "sasayaki[grammar]"') from error
    return LLTokenizer(TokenizerWrapper(_Spelling(tokenizer)), n_vocab=tokenizer.eot + 1)


class _Spelling:
    """What the engine asks of a tokenizer."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.eos_token_id = tokenizer.eot
        self.bos_token_id = None
        self.special_token_ids = [tokenizer.eot]
        self.tokens = [tokenizer.token_bytes(token) for token in range(tokenizer.eot + 1)]
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[int]:
        return self._tokenizer.encode(text)
