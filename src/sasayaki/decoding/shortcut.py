"""The candidates of a step with the default filters, from what the engine has found out about the logits.

Its slow twin are the filters themselves, applied to all logits (`DecodingTask`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, groupby
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
        tokens: (n_batch, n_candidate) integers.
        logits: (n_batch, n_candidate) float32.
        norms: log-sum-exp of the logits that are left, (n_batch,) float32.
        raw_norms: log-sum-exp of the logits before the filters, (n_batch,) float32.
        is_sure: where all this is so, (n_batch,); few logits do not always tell.
    """

    tokens: Ints
    logits: Floats
    norms: Floats
    raw_norms: Floats
    is_sure: Bools

    def rows(self, start: int, stop: int) -> Likeliest | None:
        """That of some rows; None when not all of them are sure."""
        if not self.is_sure[start:stop].all():
            return None
        own = slice(start, stop)
        return Likeliest(self.tokens[own], self.logits[own], self.norms[own], self.raw_norms[own], self.is_sure[own])


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
        self._does = (rules.max_initial_index, rules.write_until, n_candidate, is_text.tobytes())
        self._eot, self._begin = tokenizer.eot, tokenizer.timestamp_begin
        self._n_candidate = n_candidate
        self._is_text = is_text
        self._suppressed = np.flatnonzero(~is_text[: self._begin])
        self._times = np.arange(self._begin, len(is_text), dtype=np.int32)

    def __eq__(self, other: object) -> bool:
        """Whether they do the same, for whatever tokenizers they were made."""
        return isinstance(other, Shortcut) and self._does == other._does

    def __hash__(self) -> int:
        return hash(self._does)

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

    def likeliest(self, logits: Floats, digest: Digest, sampled: Sequence[tuple[int, ...]]) -> Likeliest:
        """What each row may go on with.

        Args:
            logits: (n_batch, n_read, n_vocab) float32; the last position is read.
            digest: of these logits.
            sampled: what each row has sampled so far.
        """
        last, norms = logits[:, -1], digest.norms[:, -1]
        tokens, values = digest.tokens[:, -1], digest.logits[:, -1]
        n_vocab, begin = logits.shape[-1], self._begin
        allowed = [self._rules.allowed(each, n_vocab) for each in sampled]
        others, first, stop = np.array(allowed, np.int32).T[:, :, None]

        probs = np.exp(last[:, begin:] - norms[:, None])
        inside = np.array([row[a.first - begin : a.stop - begin].sum() for row, a in zip(probs, allowed, strict=True)])
        is_text = self._is_text[tokens] & (tokens >= others)
        is_time = (tokens >= first) & (tokens < stop)
        best_text = np.where(is_text, values, -math.inf).max(axis=1)
        has_text = np.exp(best_text - norms) >= inside  # else rule 5 of the timestamps takes it away

        left = np.where(is_time | (is_text & has_text[:, None]), values, np.float32(-math.inf))
        order = np.lexsort((tokens, -left))[:, : self._n_candidate]  # among equals, the lowest token first
        lines = np.arange(len(left))[:, None]
        found = left[lines, order]
        kept, is_exact = self._kept(last, norms, others[:, 0], has_text, inside, probs.sum(axis=1) - inside)
        may_end = [not self._rules.must_write(each) for each in sampled]
        is_sure = is_exact & (found[:, -1] > values[:, -1]) & np.isfinite(norms) & may_end
        return Likeliest(tokens[lines, order], found, norms + kept, norms, is_sure)

    def _kept(
        self, logits: Floats, norms: Floats, others: Ints, has_text: Bools, inside: Floats, outside: Floats
    ) -> tuple[Floats, Bools]:
        """Logarithm of the probability that the filters leave each row, (n_batch,), and whether it is exact.

        `inside` and `outside` are the probabilities of the timestamps that are and are not allowed.
        """
        gone = outside + np.exp(logits[:, self._suppressed] - norms[:, None]).sum(axis=1)
        is_open = has_text & (others == 0)
        if is_open.all():
            return np.log1p(-gone), gone < _MOST_GONE
        end = np.where(has_text, np.exp(logits[:, self._eot] - norms), np.float32(0))
        kept: Floats = np.where(is_open, np.log1p(-gone), np.log(inside + end))
        return kept, np.where(is_open, gone < _MOST_GONE, inside > _LEAST_LEFT)


def likeliest_of(
    shortcuts: Sequence[Shortcut | None],
    logits: Floats,
    digest: Digest,
    sampled: Sequence[Sequence[tuple[int, ...]]],
) -> list[Likeliest | None]:
    """What the rows of each decode may go on with; None where there is no shortcut or few logits do not tell.

    Decodes with equal shortcuts one behind the other are looked at together.

    Args:
        shortcuts: of each decode.
        logits: of all rows, those of the first decode first, (n_batch, n_read, n_vocab) float32.
        digest: of these logits.
        sampled: what each row of each decode has sampled so far.
    """
    offsets = [0, *accumulate(map(len, sampled))]
    found: list[Likeliest | None] = []
    for shortcut, group in groupby(range(len(shortcuts)), key=shortcuts.__getitem__):
        places = list(group)
        start, stop = offsets[places[0]], offsets[places[-1] + 1]
        if shortcut is None:
            found += [None] * len(places)
            continue
        rows = [tokens for place in places for tokens in sampled[place]]
        with np.errstate(all="ignore"):  # where logits are not numbers, nothing is sure
            together = shortcut.likeliest(logits[start:stop], digest.rows(start, stop), rows)
        found += [together.rows(offsets[place] - start, offsets[place + 1] - start) for place in places]
    return found
