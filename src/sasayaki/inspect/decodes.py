"""One decode of a trace in the compact form that the page reads: numbers in lists, texts once."""

from __future__ import annotations

import math
from enum import IntEnum, auto
from typing import Any

from sasayaki.trace import DecodeStarted, DecodeStep, RankedHypothesis, StepCandidate, StepRow, TracedDecode

Json = dict[str, Any]

FIGURES = ("avg_logprob", "compression_ratio", "no_speech_prob")
"""What the thresholds of a transcription look at."""


class Detail(IntEnum):
    """Of which hypotheses a page keeps the candidates, and of which decodes the attention, most first."""

    ALL = auto()
    WINNERS = auto()
    """Candidates of the row that won at each step."""

    KEPT = auto()
    """The same, of decodes whose result was kept."""


class TokenTexts:
    """The texts of all tokens that a window mentions, by id."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}

    def __call__(self, token: int | None, text: str) -> int | None:
        """Remember the text of a token; gives the token."""
        if token is not None:
            self.texts[token] = text
        return token


def decode_data(decode: TracedDecode, texts: TokenTexts, *, detail: Detail, is_kept: bool) -> Json:
    """What the page shows of a decode.

    Args:
        decode: the decode.
        texts: remembers the texts of its tokens.
        detail: which rows have candidates and filters.
        is_kept: whether its result is that of its window.
    """
    started, finished = decode.started, decode.finished
    path = decode.winning_rows()
    shown = dict(enumerate(path if is_kept or detail < Detail.KEPT else []))
    return {
        "prompt": started.initial_text,
        "stages": list(started.stages),
        "eot": started.eot,
        "timestampBegin": started.timestamp_begin,
        "text": finished.text if finished else "",
        "figures": {name: _finite(getattr(finished, name, None)) for name in FIGURES},
        "hypotheses": [_hypothesis(each, started) for each in (finished.hypotheses if finished else ())],
        "path": path,
        "steps": [
            _step(step, texts, None if detail == Detail.ALL else shown.get(place, -1))
            for place, step in enumerate(decode.steps)
        ],
    }


def _hypothesis(hypothesis: RankedHypothesis, started: DecodeStarted) -> Json:
    return {
        "tokens": hypothesis.sampled(started.eot),
        "score": _finite(hypothesis.score),
        "stop": hypothesis.stop,
    }


def _step(step: DecodeStep, texts: TokenTexts, only_row: int | None) -> list[Any]:
    """`[rows, living, finished]`; with `only_row`, the other rows have no candidates and no effects."""
    return [
        [
            _row(row, texts) if only_row is None or place == only_row else [_fixed(row.sum_logprob), [], []]
            for place, row in enumerate(step.rows)
        ],
        [[one.row, texts(one.token, one.text), _fixed(one.sum_logprob)] for one in step.living],
        [[one.row, texts(one.token, one.text), _fixed(one.sum_logprob), one.stop] for one in step.finished],
    ]


def _row(row: StepRow, texts: TokenTexts) -> list[Any]:
    """`[sum, candidates, effects]`."""
    return [
        _fixed(row.sum_logprob),
        [_candidate(candidate, texts) for candidate in row.candidates],
        [
            [
                effect.n_banned,
                _finite(effect.removed),
                effect.n_changed,
                [[texts(one.token, one.text), _finite(one.prob)] for one in effect.banned],
            ]
            for effect in row.effects
        ],
    ]


def _candidate(candidate: StepCandidate, texts: TokenTexts) -> list[Any]:
    """`[token, bonus, log-probability before the filters, after the first, …]`."""
    token = texts(candidate.token, candidate.text)
    return [token, _fixed(candidate.bonus), *(_fixed(logprob) for logprob in candidate.logprobs)]


def _finite(value: float | None) -> float | None:
    """Rounded; None for what JSON has no number for."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


def _fixed(value: float) -> int | None:
    """In hundredths; None for -inf."""
    return round(100 * value) if math.isfinite(value) else None
