"""How far words and tokens can be trusted: their log-probabilities, calibrated on speech with known text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from sasayaki.results import DecodingResult, Slot, WordScore
from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Calibration:
    """A rising map from log-probabilities to probabilities of being right: sigmoid(offset + slope * logprob).

    The logistic map of Platt (1999), on the log-probability, so that what the model is certain of keeps some doubt.
    `scripts/fit_calibration.py` finds the two numbers; docs/confidence.md has how well they do.
    """

    offset: float
    slope: float

    def __call__(self, logprob: float) -> float:
        """The calibrated probability; 0 for -inf."""
        if logprob == -math.inf:
            return 0.0
        return 1.0 / (1.0 + math.exp(-self.offset - self.slope * max(logprob, -100.0)))


WORD_CALIBRATION = Calibration(offset=4.0, slope=1.0)
TOKEN_CALIBRATION = Calibration(offset=4.0, slope=1.0)


def token_probabilities(tokens: Sequence[int], logprobs: Sequence[float], tokenizer: Tokenizer) -> tuple[float, ...]:
    """Calibrated probability of each text token; a timestamp has the model's own probability.

    Args:
        tokens: sampled tokens without the end token.
        logprobs: log-probability of each after the filters.
        tokenizer: tells text from timestamps.
    """
    return tuple(
        TOKEN_CALIBRATION(logprob) if token < tokenizer.eot else math.exp(logprob)
        for token, logprob in zip(tokens, logprobs, strict=True)
    )


def score_words(tokens: Sequence[int], logprobs: Sequence[float], tokenizer: Tokenizer) -> tuple[WordScore, ...]:
    """The words of a text, in order, with their probabilities.

    Punctuation belongs to the word before it; where a space stands before it, to the word that follows. It has no
    part in the word's probability: a wrong comma does not make a wrong word.

    Args:
        tokens: sampled tokens without the end token; timestamps among them are passed over.
        logprobs: log-probability of each after the filters.
        tokenizer: of the language that the text is in.
    """
    words: list[WordScore] = []
    for is_text, run in groupby(zip(tokens, logprobs, strict=True), lambda pair: pair[0] < tokenizer.eot):
        if is_text:
            words += _score_run(list(run), tokenizer)
    return tuple(words)


@dataclass(frozen=True, slots=True)
class Trust:
    """What is known about a stretch of a window's text: calibrated probabilities and other readings."""

    token_probs: tuple[float, ...]
    words: tuple[WordScore, ...]
    alternatives: tuple[Slot, ...]


def cut_trust(result: DecodingResult, stretches: Sequence[Sequence[int]], tokenizer: Tokenizer) -> list[Trust]:
    """What a result knows about stretches of its tokens; nothing without hypotheses.

    A place where only other hypotheses have a word belongs to the stretch of the word before it.

    Args:
        result: of a window.
        stretches: runs of its tokens that follow each other from the first on, cut at timestamps.
        tokenizer: of the language that the text is in.
    """
    if not result.hypotheses:
        return [Trust((), (), ())] * len(stretches)
    logprobs = iter(result.hypotheses[0].token_logprobs)
    slots = list(result.alternatives)[::-1]
    trusts = []
    for tokens in stretches:
        own = tuple(islice(logprobs, len(tokens)))
        words = score_words(tokens, own, tokenizer)
        n_missing, readings = len(words), []
        while slots and (n_missing or not slots[-1].text):
            readings.append(slots.pop())
            n_missing -= bool(readings[-1].text)
        trusts.append(Trust(token_probabilities(tokens, own, tokenizer), words, tuple(readings)))
    return trusts


@dataclass(slots=True)
class _Word:
    """A word in the making."""

    text: str
    tokens: list[int]
    logprob: float

    @property
    def is_spoken(self) -> bool:
        return any(character.isalnum() for character in self.text)

    def takes(self, part: _Word) -> bool:
        """Whether `part`, which follows, belongs to this word, because one of them is punctuation."""
        return not self.is_spoken or not (part.is_spoken or part.text.startswith(" "))

    def add(self, part: _Word) -> None:
        if part.is_spoken:
            self.logprob = part.logprob
        self.text += part.text
        self.tokens += part.tokens


def _score_run(run: Sequence[tuple[int, float]], tokenizer: Tokenizer) -> list[WordScore]:
    """The words of text tokens with their log-probabilities, no timestamp among them."""
    words: list[_Word] = []
    place = 0
    for text, ids in zip(*tokenizer.split_to_word_tokens([token for token, _ in run]), strict=True):
        part = _Word(text, ids, sum(logprob for _, logprob in run[place : place + len(ids)]))
        place += len(ids)
        if words and words[-1].takes(part):
            words[-1].add(part)
        else:
            words.append(part)
    return [
        WordScore(
            text=word.text,
            tokens=tuple(word.tokens),
            logprob=word.logprob,
            probability=WORD_CALIBRATION(word.logprob),
        )
        for word in words
        if word.text.strip()
    ]
