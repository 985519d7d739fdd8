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
    """A map from log-probabilities to probabilities of being right that rises with each of its two arguments.

    sigmoid(offset + slope * log-odds + context * mean log-probability): Platt's logistic map (1999) on the log-odds
    of the model's own probability, with the model's doubt about the whole text beside it. What a model says in noise
    is less often right than the same certainty in clean speech. `scripts/fit_calibration.py` finds the three numbers;
    docs/confidence.md has how reliable they are.
    """

    offset: float
    slope: float
    context: float

    def __call__(self, logprob: float, mean_logprob: float) -> float:
        """The calibrated probability.

        Args:
            logprob: log-probability of the word or token after the filters.
            mean_logprob: mean over the text tokens of its hypothesis.
        """
        clipped = min(max(logprob, -50.0), -1e-4)
        log_odds = clipped - math.log(-math.expm1(clipped))
        score = self.offset + self.slope * log_odds + self.context * max(mean_logprob, -50.0)
        return 1.0 / (1.0 + math.exp(-score))


WORD_CALIBRATION = Calibration(offset=2.03, slope=0.61, context=3.03)
TOKEN_CALIBRATION = Calibration(offset=2.12, slope=0.62, context=2.68)


def mean_text_logprob(tokens: Sequence[int], logprobs: Sequence[float], eot: int) -> float:
    """Mean log-probability of the text tokens; 0 without any."""
    spoken = [logprob for token, logprob in zip(tokens, logprobs, strict=True) if token < eot]
    return sum(spoken) / len(spoken) if spoken else 0.0


def token_probabilities(
    tokens: Sequence[int], logprobs: Sequence[float], mean_logprob: float, eot: int
) -> tuple[float, ...]:
    """Calibrated probability of each text token; a timestamp has the model's own probability.

    Args:
        tokens: sampled tokens without the end token.
        logprobs: log-probability of each after the filters.
        mean_logprob: `mean_text_logprob` of the hypothesis that they belong to.
        eot: id of the end token; all smaller ones are text.
    """
    return tuple(
        TOKEN_CALIBRATION(logprob, mean_logprob) if token < eot else math.exp(logprob)
        for token, logprob in zip(tokens, logprobs, strict=True)
    )


def score_words(
    tokens: Sequence[int], logprobs: Sequence[float], mean_logprob: float, tokenizer: Tokenizer
) -> tuple[WordScore, ...]:
    """The words of a text, in order, with their probabilities.

    Punctuation belongs to the word before it; where a space stands before it, to the word that follows. It has no
    part in the word's probability: a wrong comma does not make a wrong word.

    Args:
        tokens: sampled tokens without the end token; timestamps among them are passed over.
        logprobs: log-probability of each after the filters.
        mean_logprob: `mean_text_logprob` of the hypothesis that they belong to.
        tokenizer: of the language that the text is in.
    """
    words: list[_Word] = []
    for is_text, run in groupby(zip(tokens, logprobs, strict=True), lambda pair: pair[0] < tokenizer.eot):
        if is_text:
            words += _words_of(list(run), tokenizer)
    return tuple(
        WordScore(
            text=word.text,
            tokens=tuple(word.tokens),
            logprob=word.logprob,
            probability=WORD_CALIBRATION(word.logprob, mean_logprob),
        )
        for word in words
        if word.text.strip()
    )


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
    best, eot = result.hypotheses[0], tokenizer.eot
    mean_logprob = mean_text_logprob(best.tokens, best.token_logprobs, eot)
    logprobs = iter(best.token_logprobs)
    slots = list(result.alternatives)[::-1]
    trusts = []
    for tokens in stretches:
        own = tuple(islice(logprobs, len(tokens)))
        words = score_words(tokens, own, mean_logprob, tokenizer)
        n_missing, readings = len(words), []
        while slots and (n_missing or not slots[-1].text):
            readings.append(slots.pop())
            n_missing -= bool(readings[-1].text)
        trusts.append(Trust(token_probabilities(tokens, own, mean_logprob, eot), words, tuple(readings)))
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


def _words_of(run: Sequence[tuple[int, float]], tokenizer: Tokenizer) -> list[_Word]:
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
    return words
