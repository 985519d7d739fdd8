"""The filter that keeps timestamps in pairs, in order, and where the audio has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from array_api_compat import array_namespace

from sasayaki.decoding.arrays import forbid_where, logsumexp
from sasayaki.inference.base import Array
from sasayaki.text.tokenizer import Tokenizer


class Allowed(NamedTuple):
    """The tokens that may follow a hypothesis, as far as its own tokens say.

    Attributes:
        others: first of the tokens before the timestamps that may follow; all behind it may, but `<|notimestamps|>`.
        first: first timestamp that may follow.
        stop: first one behind the last that may.
    """

    others: int
    first: int
    stop: int


class ApplyTimestampRules:
    """The rules of openai/whisper's filter of the same name, in this order.

    1. `<|notimestamps|>` is banned.
    2. Timestamps come in pairs, end and start, save for the first (a start) and one before the end token.
    3. Timestamps never go back, and a segment is never empty.
    4. The first token is a timestamp, at most `max_initial_index`.
    5. If the timestamps together are likelier than the likeliest other token, one of them is taken.

    Beside these, a segment that begins before `write_until_index` is not left to the next window: the text does not
    end behind its start.

    Args:
        tokenizer: gives the ids.
        max_initial_index: largest first timestamp in steps of 0.02 s; None sets no limit.
        write_until_index: first start of a segment, in the same steps, behind which the text may end; None allows any.
    """

    def __init__(
        self, tokenizer: Tokenizer, max_initial_index: int | None, write_until_index: int | None = None
    ) -> None:
        self._begin = tokenizer.timestamp_begin
        self._no_timestamps = tokenizer.no_timestamps
        self._eot = tokenizer.eot
        self.max_initial_index = max_initial_index
        self.write_until = self._begin + (write_until_index or 0)

    def allowed(self, tokens: tuple[int, ...], n_vocab: int) -> Allowed:
        """What rules 2 to 4 leave behind the sampled `tokens`."""
        begin = self._begin
        if not tokens:
            limit = n_vocab if self.max_initial_index is None else begin + self.max_initial_index + 1
            return Allowed(begin, begin, min(limit, n_vocab))
        ends_with_timestamp = tokens[-1] >= begin
        if ends_with_timestamp and (len(tokens) < 2 or tokens[-2] >= begin):
            return Allowed(0, n_vocab, n_vocab)
        if ends_with_timestamp:
            return Allowed(self._eot, tokens[-1], n_vocab)
        last = next((token for token in reversed(tokens) if token >= begin), begin - 1)
        return Allowed(0, last + 1, n_vocab)

    def must_write(self, tokens: tuple[int, ...]) -> bool:
        """Whether the end may not follow, as a segment has begun that is not left to the next window."""
        return len(tokens) > 1 and self._begin <= min(tokens[-2:]) and tokens[-1] < self.write_until

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place."""
        logits[:, self._no_timestamps] = -math.inf
        for row, tokens in enumerate(sampled):
            others, first, stop = self.allowed(tokens, logits.shape[-1])
            logits[row, :others] = -math.inf
            logits[row, self._begin : first] = -math.inf
            logits[row, stop:] = -math.inf
            if self.must_write(tokens):
                logits[row, self._eot] = -math.inf
        self._prefer_likely_timestamps(logits)

    def _prefer_likely_timestamps(self, logits: Array) -> None:
        xp = array_namespace(logits)
        others = xp.max(logits[:, : self._begin], axis=-1)
        forbid_where(logits, logsumexp(logits[:, self._begin :]) > others, self._begin)
