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
        self._is_text = is_text.tobytes()  # which Python looks into sooner than into an array
        self._does = (rules.max_initial_index, rules.write_until, n_candidate, self._is_text)
        self._eot, self._begin = tokenizer.eot, tokenizer.timestamp_begin
        self._n_candidate = n_candidate
        self._suppressed = np.flatnonzero(~is_text[: self._begin])

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
        times = np.exp(last[:, self._begin :] - norms[:, None])
        banned = np.exp(last[:, self._suppressed] - norms[:, None]).sum(axis=1)
        known = (array.tolist() for array in (digest.tokens[:, -1], digest.logits[:, -1], norms, banned))
        rows = [self._row(*row) for row in zip(sampled, last, times, *known, strict=True)]
        tokens, values, kept, is_sure = (np.array(part) for part in zip(*rows, strict=True))
        left = norms + kept.astype(np.float32)
        return Likeliest(tokens, values.astype(np.float32), left, norms, is_sure)

    def _row(
        self,
        sampled: tuple[int, ...],
        logits: Floats,
        times: Floats,
        tokens: list[int],
        values: list[float],
        norm: float,
        banned: float,
    ) -> tuple[list[int], list[float], float, bool]:
        """Tokens and logits of the candidates of a row, logarithm of what is left of it, and whether all this is so.

        In Python, as few numbers are looked at: most calls of NumPy would take longer than all that is done here.

        Args:
            sampled: what the row has sampled so far.
            logits: of the row, (n_vocab,).
            times: probabilities of the timestamps.
            tokens: the likeliest tokens.
            values: their logits.
            norm: log-sum-exp of its logits.
            banned: probability of the suppressed tokens.
        """
        unknown = [0] * self._n_candidate, [-math.inf] * self._n_candidate, 0.0, False
        if not math.isfinite(norm) or self._rules.must_write(sampled):
            return unknown
        others, first, stop = self._rules.allowed(sampled, len(logits))
        inside = float(times[first - self._begin : stop - self._begin].sum())
        found: list[tuple[float, int]] = []
        has_text: bool | None = None
        for token, value in zip(tokens, values, strict=True):
            if len(found) >= self._n_candidate and -value > found[-1][0]:
                break  # nor is a likelier text to come
            if self._is_text[token] and token >= others:
                if has_text is None:  # rule 5 of the timestamps may take text away
                    has_text = math.exp(value - norm) >= inside
                if has_text:
                    found.append((-value, token))
            elif first <= token < stop:
                found.append((-value, token))
        found = sorted(found)[: self._n_candidate]  # among equals, the lowest token first
        if len(found) < self._n_candidate or -found[-1][0] <= values[-1]:
            return unknown
        gone = banned + float(times.sum()) - inside
        if has_text and not others:
            kept, is_exact = math.log1p(-min(gone, _MOST_GONE)), gone < _MOST_GONE
        else:
            end = math.exp(float(logits[self._eot]) - norm) if has_text else 0.0
            kept, is_exact = math.log(max(inside + end, _LEAST_LEFT)), inside > _LEAST_LEFT
        return [token for _, token in found], [-value for value, _ in found], kept, is_exact


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
