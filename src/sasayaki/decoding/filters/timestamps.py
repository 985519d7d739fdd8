"""The filter that keeps timestamps in pairs, in order, and where the audio has them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from array_api_compat import array_namespace

from sasayaki.decoding.arrays import forbid_where, logsumexp
from sasayaki.inference.base import Array
from sasayaki.text.tokenizer import Tokenizer


class ApplyTimestampRules:
    """The rules of openai/whisper's filter of the same name, in this order.

    1. `<|notimestamps|>` is banned.
    2. Timestamps come in pairs, end and start, save for the first (a start) and one before the end token.
    3. Timestamps never go back, and a segment is never empty.
    4. The first token is a timestamp, at most `max_initial_index`.
    5. If the timestamps together are likelier than the likeliest other token, one of them is taken.

    Args:
        tokenizer: gives the ids.
        max_initial_index: largest first timestamp in steps of 0.02 s; None sets no limit.
    """

    def __init__(self, tokenizer: Tokenizer, max_initial_index: int | None) -> None:
        self._begin = tokenizer.timestamp_begin
        self._no_timestamps = tokenizer.no_timestamps
        self._eot = tokenizer.eot
        self._max_initial_index = max_initial_index

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place."""
        logits[:, self._no_timestamps] = -math.inf
        for row, tokens in enumerate(sampled):
            if tokens:
                self._keep_pairs_and_order(logits[row], tokens)
            else:
                self._start_with_timestamp(logits[row])
        self._prefer_likely_timestamps(logits)

    def _start_with_timestamp(self, logits: Array) -> None:
        logits[: self._begin] = -math.inf
        if self._max_initial_index is not None:
            logits[self._begin + self._max_initial_index + 1 :] = -math.inf

    def _keep_pairs_and_order(self, logits: Array, tokens: tuple[int, ...]) -> None:
        begin = self._begin
        ends_with_timestamp = tokens[-1] >= begin
        is_pair = ends_with_timestamp and (len(tokens) < 2 or tokens[-2] >= begin)
        if is_pair:
            logits[begin:] = -math.inf
        elif ends_with_timestamp:
            logits[: self._eot] = -math.inf
        last = next((token for token in reversed(tokens) if token >= begin), None)
        if last is not None:
            may_repeat = ends_with_timestamp and not is_pair
            logits[begin : last if may_repeat else last + 1] = -math.inf

    def _prefer_likely_timestamps(self, logits: Array) -> None:
        xp = array_namespace(logits)
        others = xp.max(logits[:, : self._begin], axis=-1)
        forbid_where(logits, logsumexp(logits[:, self._begin :]) > others, self._begin)
