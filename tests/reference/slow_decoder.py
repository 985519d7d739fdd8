"""The slow twin of the decoder: one window at a time, plain lists and dicts, no cache, float64.

It follows the written behaviour of openai/whisper with its faults fixed, in the most literal way: the group's rows
are repeated from the start, sequences are whole tuples, candidates live in a dict keyed by sequence, and every step
asks the script again for every row. Temperature 0 only. Candidates of probability zero are dropped, since the order
in which the reference keeps them is left to its top-k; where no candidate is left the search ends.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer

Script = Callable[[object, tuple[int, ...]], np.ndarray]
NEVER = -math.inf


@dataclass(frozen=True)
class SlowHypothesis:
    """One ended sequence: sampled tokens without the end token, whether that was sampled, sum, score."""

    tokens: tuple[int, ...]
    has_end: bool
    sum_logprob: float
    score: float


@dataclass(frozen=True)
class SlowResult:
    """What the decode of one window gives; hypotheses in the order in which they were found."""

    initial: tuple[int, ...]
    language: str | None
    language_probs: dict[str, float] | None
    tokens: tuple[int, ...]
    text: str
    sum_logprob: float
    avg_logprob: float
    no_speech_prob: float
    compression_ratio: float
    hypotheses: tuple[SlowHypothesis, ...]


class NothingToSampleError(Exception):
    """The options leave no token for the first position."""


class SlowDecoder:
    """Decodes one window by the book; `tokenizer` has neither language nor task of the options yet."""

    def __init__(
        self, script: Script, audio: object, tokenizer: Tokenizer, options: DecodingOptions, n_text_ctx: int
    ) -> None:
        assert options.temperature == 0, "sampling has no twin"
        self.script, self.audio, self.options, self.n_text_ctx = script, audio, options, n_text_ctx
        self.special = tokenizer.special
        self.language, self.language_probs = self._language()
        if self.special.is_multilingual:
            tokenizer = tokenizer.with_language(self.language, options.task)
        self.tokenizer = tokenizer
        self.sample_len = options.sample_len or n_text_ctx // 2
        self.sot_index, self.initial = self._initial_tokens()
        self.sample_begin = len(self.initial)
        self.banned = self._banned_tokens()

    def run(self) -> SlowResult:
        """All steps: loop, finalize, rank."""
        raw = self._logits(self.initial[: self.sot_index + 1])
        no_speech_prob = math.exp(log_softmax(raw)[self.special.no_speech])
        if max(self._logprobs(self.initial)) == NEVER:
            raise NothingToSampleError
        ended = self._beam_search() if self.options.beam_size else self._greedy()
        hypotheses = tuple(self._hypothesis(sequence, total) for sequence, total in ended.items())
        best = max(hypotheses, key=lambda hypothesis: hypothesis.score)
        text = self.tokenizer.decode([t for t in best.tokens if t < self.special.timestamp_begin]).strip()
        encoded = text.encode("utf-8")
        return SlowResult(
            initial=self.initial,
            language=self.language,
            language_probs=self.language_probs,
            tokens=best.tokens,
            text=text,
            sum_logprob=best.sum_logprob,
            avg_logprob=best.sum_logprob / (len(best.tokens) + 1),
            no_speech_prob=no_speech_prob,
            compression_ratio=len(encoded) / len(zlib.compress(encoded)),
            hypotheses=hypotheses,
        )

    # Before the loop

    def _language(self) -> tuple[str | None, dict[str, float] | None]:
        if not self.special.is_multilingual:
            return "en", None
        if self.options.language is not None:
            return self.options.language, None
        logits = self._logits((self.special.sot,))
        codes = list(self.special.languages)
        probs = [math.exp(p) for p in log_softmax([logits[self.special.languages[code]] for code in codes])]
        return codes[probs.index(max(probs))], dict(zip(codes, probs, strict=True))

    def _ids(self, given: str | Sequence[int] | None) -> list[int]:
        if given is None:
            return []
        if isinstance(given, str):
            return self.tokenizer.encode(" " + given.strip()) if given.strip() else []
        return list(given)

    def _initial_tokens(self) -> tuple[int, tuple[int, ...]]:
        sot_sequence = list(self.tokenizer.sot_sequence)
        if self.options.without_timestamps:
            sot_sequence.append(self.special.no_timestamps)
        prompt = self._ids(self.options.prompt)
        prompt = keep_last(prompt, self.n_text_ctx // 2 - 1)
        start = [self.special.sot_prev, *prompt] if prompt else []
        # Room for one token to sample; a sample_len that is asked for takes its part of the half first.
        room = self.n_text_ctx - 1 - len(start) - len(sot_sequence)
        if self.options.sample_len is not None:
            room = min(room, self.n_text_ctx // 2 - self.options.sample_len)
        return len(start), (*start, *sot_sequence, *keep_last(self._ids(self.options.prefix), room))

    def _banned_tokens(self) -> set[int]:
        given = self.options.suppress_tokens
        entries = [] if not given else given.split(",") if isinstance(given, str) else list(given)
        asked = [int(entry) for entry in entries]
        banned = {token for token in asked if token >= 0}
        if -1 in asked:
            banned |= set(self.tokenizer.non_speech_tokens)
        special = self.special
        banned |= {special.sot, special.sot_prev, special.sot_lm, special.transcribe, special.translate}
        return banned | {special.no_speech} | set(special.languages.values())

    # Logits and filters of one row

    def _logits(self, sequence: tuple[int, ...]) -> list[float]:
        return [float(logit) for logit in self.script(self.audio, sequence).astype(np.float32)]

    def _logprobs(self, sequence: tuple[int, ...]) -> list[float]:
        """Log-probabilities of the next token after the filters, in their order: blank, suppress, timestamps."""
        logits = self._logits(sequence)
        sampled = sequence[self.sample_begin :]
        if self.options.suppress_blank and not sampled:
            mask(logits, [*self.tokenizer.encode(" "), self.special.eot])
        mask(logits, self.banned)
        if not self.options.without_timestamps:
            self._timestamp_rules(logits, sampled)
        return log_softmax(logits)

    def _timestamp_rules(self, logits: list[float], sampled: tuple[int, ...]) -> None:
        begin, eot, n_vocab = self.special.timestamp_begin, self.special.eot, len(logits)
        mask(logits, [self.special.no_timestamps])
        last_is_timestamp = len(sampled) >= 1 and sampled[-1] >= begin
        previous_is_timestamp = len(sampled) < 2 or sampled[-2] >= begin
        if last_is_timestamp and previous_is_timestamp:
            mask(logits, range(begin, n_vocab))
        elif last_is_timestamp:
            mask(logits, range(eot))
        timestamps = [token for token in sampled if token >= begin]
        if timestamps:
            opens_pair = last_is_timestamp and not previous_is_timestamp
            mask(logits, range(begin, timestamps[-1] if opens_pair else timestamps[-1] + 1))
        if not sampled:
            mask(logits, range(begin))
            if self.options.max_initial_timestamp is not None:
                latest = begin + round(self.options.max_initial_timestamp / 0.02)
                mask(logits, range(latest + 1, n_vocab))
        if all(logit == NEVER for logit in logits):
            return
        logprobs = log_softmax(logits)
        if log_sum_exp(logprobs[begin:]) > max(logprobs[:begin]):
            mask(logits, range(begin))

    # Searches: whole sequences to sums

    def _is_over(self, step: int, length: int) -> bool:
        return step + 1 == self.sample_len or length > self.n_text_ctx

    def _greedy(self) -> dict[tuple[int, ...], float]:
        tokens, total = self.initial, 0.0
        for step in range(self.sample_len):
            logprobs = self._logprobs(tokens)
            if max(logprobs) == NEVER:
                break
            token = logprobs.index(max(logprobs))
            total += logprobs[token]
            tokens = (*tokens, token)
            if token == self.special.eot or self._is_over(step, len(tokens)):
                break
        return {tokens: total}

    def _beam_search(self) -> dict[tuple[int, ...], float]:
        beam_size = self.options.beam_size
        assert beam_size is not None
        max_finished = round(beam_size * (self.options.patience or 1.0))
        rows = [(self.initial, 0.0)] * beam_size
        finished: dict[tuple[int, ...], float] = {}
        for step in range(self.sample_len):
            candidates = self._candidates(rows, beam_size)
            if not candidates:
                break
            rows, ended = self._survivors(candidates, beam_size)
            for sequence in sorted(ended, key=lambda sequence: ended[sequence], reverse=True):
                if len(finished) < max_finished:
                    finished[sequence] = ended[sequence]
            if len(finished) >= max_finished or not rows or self._is_over(step, len(rows[0][0])):
                break
        for sequence, total in sorted(rows, key=lambda row: row[1], reverse=True):
            if len(finished) < beam_size:
                finished[sequence] = total
        return finished

    def _candidates(self, rows: list[tuple[tuple[int, ...], float]], beam_size: int) -> dict[tuple[int, ...], float]:
        candidates: dict[tuple[int, ...], float] = {}
        for sequence, total in rows:
            logprobs = self._logprobs(sequence)
            best = sorted(range(len(logprobs)), key=lambda token: logprobs[token], reverse=True)
            for token in best[: beam_size + 1]:
                if logprobs[token] > NEVER:
                    candidates[(*sequence, token)] = total + logprobs[token]
        return candidates

    def _survivors(
        self, candidates: dict[tuple[int, ...], float], beam_size: int
    ) -> tuple[list[tuple[tuple[int, ...], float]], dict[tuple[int, ...], float]]:
        rows: list[tuple[tuple[int, ...], float]] = []
        ended: dict[tuple[int, ...], float] = {}
        for sequence in sorted(candidates, key=lambda sequence: candidates[sequence], reverse=True):
            if sequence[-1] == self.special.eot:
                ended[sequence] = candidates[sequence]
            else:
                rows.append((sequence, candidates[sequence]))
                if len(rows) == beam_size:
                    break
        return rows, ended

    # After the loop

    def _hypothesis(self, sequence: tuple[int, ...], total: float) -> SlowHypothesis:
        sampled = sequence[self.sample_begin :]
        has_end = sampled[-1:] == (self.special.eot,)
        tokens = sampled[:-1] if has_end else sampled
        if self.options.length_penalty is None:
            penalty = float(max(len(tokens), 1))
        else:
            penalty = ((5 + len(tokens)) / 6) ** self.options.length_penalty
        return SlowHypothesis(tokens, has_end, total, total / penalty)


def keep_last(tokens: list[int], limit: int) -> list[int]:
    """The last `limit` tokens; none when the limit is 0 or below."""
    return tokens[-limit:] if limit > 0 else []


def mask(logits: list[float], tokens: Sequence[int] | set[int] | range) -> None:
    """Make these tokens impossible, in place."""
    for token in tokens:
        logits[token] = NEVER


def log_sum_exp(values: Sequence[float]) -> float:
    """Logarithm of the sum of exponentials."""
    top = max(values, default=NEVER)
    return top if top == NEVER else top + math.log(sum(math.exp(value - top) for value in values))


def log_softmax(logits: Sequence[float]) -> list[float]:
    """Logits less their log-sum-exp."""
    norm = log_sum_exp(logits)
    return [logit - norm if logit > NEVER else NEVER for logit in logits]
