"""The candidates of a step with the default filters, from what the engine has found out about the logits.

Its slow twin are the filters themselves, applied to all logits (`DecodingTask`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.filters.base import LogitFilter
from sasayaki.decoding.filters.suppress import SuppressBlank, SuppressTokens
from sasayaki.decoding.filters.timestamps import ApplyTimestampRules
from sasayaki.inference.base import Digest
from sasayaki.text.tokenizer import Tokenizer

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MOST_GONE = 0.5
"""Probability that filters may take away from a row; what they leave is not exact to float32 when they take more."""

_LEAST_LEFT = 1e-30
"""Probability that the timestamps must have where they are all that is left; below, their sum is not exact."""


class Likeliest(NamedTuple):
    """The likeliest tokens of each row after the filters, likeliest first.

    Attributes:
        tokens: (n_batch, n_candidate) int64.
        logits: (n_batch, n_candidate) float32.
        norms: log-sum-exp of the logits that are left, (n_batch,) float32.
    """

    tokens: Ints
    logits: Floats
    norms: Floats


class Shortcut:
    """Does what `SuppressBlank`, `SuppressTokens`, `ApplyTimestampRules` and a choice of the likeliest do together.

    Args:
        tokenizer: gives the ids.
        is_text: which tokens are not suppressed, (n_vocab,); none behind the end token and before the timestamps.
        rules: of the timestamps.
        n_candidate: likeliest tokens to find in each row.
    """

    def __init__(self, tokenizer: Tokenizer, is_text: Bools, rules: ApplyTimestampRules, n_candidate: int) -> None:
        self._rules = rules
        self._eot, self._begin = tokenizer.eot, tokenizer.timestamp_begin
        self._n_candidate = n_candidate
        self._is_text = is_text
        self._suppressed = np.flatnonzero(~is_text[: self._begin])
        self._times = np.arange(self._begin, len(is_text), dtype=np.int32)

    @classmethod
    def of(
        cls, filters: Sequence[LogitFilter], tokenizer: Tokenizer, n_candidate: int | None, n_vocab: int
    ) -> Shortcut | None:
        """The shortcut for these filters and a search that takes the `n_candidate` likeliest; None if there is none."""
        kinds = [type(one) for one in filters if not isinstance(one, SuppressBlank)]  # timestamps come first anyway
        if n_candidate is None or kinds != [SuppressTokens, ApplyTimestampRules]:
            return None
        *_, suppress, rules = filters
        assert isinstance(suppress, SuppressTokens)
        assert isinstance(rules, ApplyTimestampRules)
        eot, begin = tokenizer.eot, tokenizer.timestamp_begin
        is_text = np.isfinite(suppress.mask)
        is_text[tokenizer.no_timestamps] = False
        if not is_text[begin:].all() or is_text[eot + 1 : begin].any():
            return None
        is_text[begin:] = False
        return cls(tokenizer, is_text, rules, n_candidate)

    def likeliest(self, logits: Floats, digest: Digest, sampled: Sequence[tuple[int, ...]]) -> Likeliest | None:
        """What each row may go on with; None when few logits do not tell.

        Args:
            logits: (n_batch, n_read, n_vocab) float32; the last position is read.
            digest: of these logits.
            sampled: what each row has sampled so far.
        """
        last, norms = logits[:, -1], digest.norms[:, -1]
        if not np.isfinite(norms).all() or any(map(self._rules.must_write, sampled)):
            return None
        tokens, values = digest.tokens[:, -1], digest.logits[:, -1]
        allowed = np.array([self._rules.allowed(each, logits.shape[-1]) for each in sampled], np.int32)
        others, first, stop = allowed.T[:, :, None]

        probs = np.exp(last[:, self._begin :] - norms[:, None])
        inside = np.where((self._times >= first) & (self._times < stop), probs, np.float32(0)).sum(axis=1)
        outside = probs.sum(axis=1) - inside
        is_text = self._is_text[tokens] & (tokens >= others)
        is_time = (tokens >= first) & (tokens < stop)
        best_text = np.where(is_text, values, -math.inf).max(axis=1)
        has_text = np.exp(best_text - norms) >= inside  # else rule 5 of the timestamps takes it away

        values_left = np.where(is_time | (is_text & has_text[:, None]), values, np.float32(-math.inf))
        order = np.lexsort((tokens, -values_left))[:, : self._n_candidate]  # among equals, the lowest token first
        found = np.take_along_axis(values_left, order, axis=1)
        kept = self._kept(last, norms, others[:, 0], has_text, inside, outside)
        if kept is None or not (found[:, -1] > values[:, -1]).all():
            return None
        return Likeliest(np.take_along_axis(tokens, order, axis=1), found, norms + kept)

    def _kept(
        self, logits: Floats, norms: Floats, others: Ints, has_text: Bools, inside: Floats, outside: Floats
    ) -> Floats | None:
        """Logarithm of the probability that the filters leave each row, (n_batch,); None when it is not exact.

        `inside` and `outside` are the probabilities of the timestamps that are and are not allowed.
        """
        gone = outside + np.exp(logits[:, self._suppressed] - norms[:, None]).sum(axis=1)
        is_open = has_text & (others == 0)
        if not np.where(is_open, gone < _MOST_GONE, inside > _LEAST_LEFT).all():
            return None
        end = np.where(has_text, np.exp(logits[:, self._eot] - norms), np.float32(0))
        kept: Floats = np.where(is_open, np.log1p(-gone), np.log(inside + end))
        return kept
