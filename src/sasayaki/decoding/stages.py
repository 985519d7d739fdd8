"""What the filters of a step did to each row: candidates, banned tokens, and the probability that was removed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.arrays import logsumexp, top_k
from sasayaki.decoding.search import Beam, Candidates
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.trace import BannedToken, FilterEffect, StepCandidate, StepRow

N_CANDIDATES = 10
"""Likeliest tokens that are recorded of each row, before the filters and after them."""

N_BANNED = 5
"""Most probable banned tokens that are recorded of each filter and row."""

Floats = npt.NDArray[np.float32]


def describe_rows(
    stages: Sequence[Floats], beams: Sequence[Beam], candidates: Candidates, tokenizer: Tokenizer
) -> tuple[StepRow, ...]:
    """Each row of a step.

    Args:
        stages: logits (n_batch, n_vocab) before the filters and after each of them.
        beams: the rows' hypotheses.
        candidates: what was offered to the search.
        tokenizer: spells the tokens.
    """
    logprobs = np.stack([_log_softmax(stage) for stage in stages], axis=1)
    first, last = (top_k(logprobs[:, stage], N_CANDIDATES) for stage in (0, -1))
    return tuple(
        StepRow(
            tokens=beam.tokens,
            text=tokenizer.decode_with_timestamps(beam.tokens),
            sum_logprob=rounded(beam.sum_logprob),
            effects=tuple(
                _effect(logprobs[row, place], before[row], after[row], tokenizer)
                for place, (before, after) in enumerate(pairwise(stages))
            ),
            candidates=_candidates(
                logprobs[row], {*first[row].tolist(), *last[row].tolist()}, _bonuses(candidates, row), tokenizer
            ),
        )
        for row, beam in enumerate(beams)
    )


def spell(tokenizer: Tokenizer, token: int) -> str:
    """The text of one token, special ones spelled out; bytes that are no whole character in hexadecimal."""
    return tokenizer.token_bytes(token).decode("utf-8", errors="backslashreplace")


def rounded(value: float) -> float:
    """To four decimals, as a trace has it."""
    return round(float(value), 4)


def _log_softmax(logits: Floats) -> Floats:
    """Log-probabilities of rows of logits; -inf all over where nothing is possible."""
    norms = logsumexp(logits)
    return np.asarray(logits - np.where(np.isfinite(norms), norms, 0)[:, None])


def _effect(logprobs: Floats, before: Floats, after: Floats, tokenizer: Tokenizer) -> FilterEffect:
    """What a filter did to one row: `logprobs` and `before` hold what it got, `after` what it left, (n_vocab,)."""
    was_possible, is_possible = np.isfinite(before), np.isfinite(after)
    banned = np.flatnonzero(was_possible & ~is_possible)
    probs = np.exp(logprobs[banned])
    most = np.argsort(-probs, kind="stable")[:N_BANNED]
    return FilterEffect(
        n_banned=len(banned),
        removed=round(float(probs.sum()), 6),
        n_changed=int(np.count_nonzero(is_possible & (before != after))),
        banned=tuple(
            BannedToken(token=token, text=spell(tokenizer, token), prob=round(prob, 6))
            for token, prob in zip(banned[most].tolist(), probs[most].tolist(), strict=True)
        ),
    )


def _bonuses(candidates: Candidates, row: int) -> dict[int, float]:
    """What the scorers added to each token that was offered."""
    return {candidate.token: candidate.bonus for candidate in candidates.row(row)}


def _candidates(
    logprobs: Floats, likeliest: set[int], bonuses: dict[int, float], tokenizer: Tokenizer
) -> tuple[StepCandidate, ...]:
    """One row's tokens to show, from its log-probabilities (n_stage, n_vocab)."""
    found = [
        StepCandidate(
            token=token,
            text=spell(tokenizer, token),
            logprobs=tuple(rounded(logprob) for logprob in logprobs[:, token].tolist()),
            bonus=rounded(bonuses.get(token, 0.0)),
        )
        for token in likeliest | set(bonuses)
    ]
    possible = (candidate for candidate in found if not math.isinf(candidate.raw_logprob))
    return tuple(sorted(possible, key=lambda one: (-one.logprob, -one.raw_logprob, one.token)))
