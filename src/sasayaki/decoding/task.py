"""The decode of one window as a state machine; decoding/pool.py drives any number of them together."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from sasayaki.decoding.arrays import all_to_numpy, logsumexp, norms_before_and_after, take_columns, to_numpy
from sasayaki.decoding.confidence import mean_text_logprob, score_words, token_probabilities
from sasayaki.decoding.confusion import alternatives
from sasayaki.decoding.filters.chain import build_filters
from sasayaki.decoding.prompt import initial_tokens
from sasayaki.decoding.ranker import MaximumLikelihoodRanker
from sasayaki.decoding.recorder import Tracer
from sasayaki.decoding.scorers.chain import build_scorers
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.decoding.shortcut import Likeliest, Shortcut
from sasayaki.decoding.token_decoders import build_token_decoder
from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import Array, AudioFeatures, Row
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult, Hypothesis
from sasayaki.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a step takes from the engine to the host, in the engine's array type.

    Attributes:
        tokens: candidate ids, (n_batch, n_candidate).
        logprobs: their log-probabilities after the filters, (n_batch, n_candidate).
        raw_logprobs: the same before the filters.
        raw_norms: log-sum-exp of each row before the filters, (n_batch,); finite unless the engine is at fault.
        no_speech_prob: in the first step, the probability of the no-speech token, shape ().
        bonuses: what scorers added to `logprobs`, (n_batch, n_candidate); None without scorers.
    """

    tokens: Array
    logprobs: Array
    raw_logprobs: Array
    raw_norms: Array
    no_speech_prob: Array | None
    bonuses: Array | None = None

    def candidates(self) -> Candidates:
        """The candidates on the host."""
        bonuses = None if self.bonuses is None else to_numpy(self.bonuses)
        return Candidates(to_numpy(self.tokens), to_numpy(self.logprobs), to_numpy(self.raw_logprobs), bonuses)


def on_host(proposals: Sequence[Proposal]) -> list[Proposal]:
    """The same in NumPy: a device is waited for once, however many windows are decoded side by side."""
    names = [field.name for field in fields(Proposal)]
    parts = [{name: x for name in names if (x := getattr(proposal, name)) is not None} for proposal in proposals]
    arrays = iter(all_to_numpy([x for part in parts for x in part.values()]))
    return [
        replace(proposal, **{name: next(arrays) for name in part})
        for proposal, part in zip(proposals, parts, strict=True)
    ]


class DecodingTask:
    """Decodes one window: `start`, then `propose` and `advance` until no row is left, then `finish`.

    A step: logits → filters → scorers → token decoder → rows to feed next. The task never holds an engine, so tasks
    with different options, prompts and ages can share each call of one.

    Args:
        audio: the encoded window.
        tokenizer: of the language and task to decode.
        options: how to decode; its language is not read, the tokenizer has it.
        n_text_ctx: most tokens that the decoder can be fed.
        n_vocab: size of the vocabulary.
        suppress: the model's own list of tokens that `-1` in `suppress_tokens` stands for.
        language_probs: of the detection, to be handed through to the result.
        tracer: records the decode; None records nothing.

    Raises:
        OptionError: an option does not fit the model.
    """

    def __init__(
        self,
        audio: AudioFeatures,
        tokenizer: Tokenizer,
        options: DecodingOptions,
        *,
        n_text_ctx: int,
        n_vocab: int,
        suppress: Sequence[int] | None = None,
        language_probs: dict[str, float] | None = None,
        tracer: Tracer | None = None,
    ) -> None:
        self._audio = audio
        self._tokenizer = tokenizer
        self._options = options
        self._language_probs = language_probs
        self._initial = initial_tokens(tokenizer, options, n_text_ctx=n_text_ctx, n_vocab=n_vocab)
        self._filters = build_filters(options, tokenizer, n_vocab, suppress)
        self._scorers = build_scorers(options, tokenizer, n_vocab, suppress)
        self._ranker = MaximumLikelihoodRanker(tokenizer.eot, options.length_penalty, options.length_reward)
        self._decoder = build_token_decoder(options, tokenizer, self._ranker, n_steps=self._initial.n_steps)
        self._state = SearchState()
        self._n_steps = 0
        self._no_speech_prob = math.nan
        has_scorers, n_candidate = bool(self._scorers), self._decoder.n_candidate
        self.shortcut = None if has_scorers else Shortcut.of(self._filters, tokenizer, n_candidate, n_vocab)
        self._recorder = tracer and tracer.begin(audio, tokenizer, options, self._initial, language_probs)
        if self._recorder:
            self._filters = self._recorder.watch(self._filters)

    @property
    def n_audio_ctx(self) -> int:
        """Positions of the encoded window."""
        return int(self._audio.array.shape[0])

    def start(self) -> list[Row]:
        """The first row to feed; all beams and samples grow from it."""
        return [Row(self._audio, self._initial.tokens, read=(self._initial.sot_index, -1))]

    @property
    def sampled(self) -> list[tuple[int, ...]]:
        """What each row has sampled so far."""
        return [beam.tokens for beam in self._state.beams]

    def propose(self, logits: Array, likeliest: Likeliest | None = None) -> Proposal:
        """Pick candidates from the logits of this task's rows, (n_batch, n_read, n_vocab).

        `likeliest` is what the shortcut has found for them; without it, the filters are applied to all logits.
        """
        sampled = self.sampled
        with np.errstate(over="ignore", invalid="ignore"):  # `advance` finds what is not a number
            no_speech_prob = None if self._n_steps else self._no_speech(logits[0, 0])
            if likeliest is None:
                return self._propose_from_all(logits[:, -1], sampled, no_speech_prob)
            if self._recorder:
                self._filtered(logits[:, -1], sampled)  # only to be watched
            return Proposal(
                likeliest.tokens,
                likeliest.logits - likeliest.norms[:, None],
                likeliest.logits - likeliest.raw_norms[:, None],
                likeliest.raw_norms,
                no_speech_prob,
            )

    def _propose_from_all(
        self, raw: Array, sampled: Sequence[tuple[int, ...]], no_speech_prob: Array | None
    ) -> Proposal:
        filtered = self._filtered(raw, sampled)
        raw_norms, norms = norms_before_and_after(raw, filtered)
        scores = self._scores(filtered, norms[:, None], sampled) if self._scorers else filtered
        tokens = self._decoder.propose(scores, self._state)
        logprobs = take_columns(filtered, tokens) - norms[:, None]
        return Proposal(
            tokens,
            logprobs,
            take_columns(raw, tokens) - raw_norms[:, None],
            raw_norms,
            no_speech_prob,
            take_columns(scores, tokens) - logprobs if self._scorers else None,
        )

    def advance(self, proposal: Proposal) -> list[Row]:
        """Take one step of the search; the rows to feed next, none when the decode is over.

        Raises:
            OptionError: the filters forbid every token from the start.
            BackendError: the engine gave logits that are not numbers.
        """
        if proposal.no_speech_prob is not None:
            self._no_speech_prob = float(proposal.no_speech_prob)
        candidates = proposal.candidates()
        self._check(proposal, candidates)
        before, self._state = self._state, self._decoder.advance(self._state, candidates)
        self._n_steps += 1
        if self._recorder:
            self._recorder.step(before, candidates, self._state)
        if self._state.is_done or self._n_steps >= self._initial.n_steps:
            return []
        return [
            Row(self._audio, beam.tokens[-1:], source)
            for beam, source in zip(self._state.beams, self._state.sources, strict=True)
        ]

    def finish(self) -> DecodingResult:
        """Rank the hypotheses and build the result."""
        ranked = self._ranker.rank(self._decoder.finish(self._state))
        hypotheses = tuple(self._hypothesis(rank, beam) for rank, beam in enumerate(ranked[: self._options.n_best]))
        best = hypotheses[0]
        result = DecodingResult(
            audio_features=self._audio.array,
            language=self._tokenizer.language or "en",
            language_probs=self._language_probs,
            tokens=best.tokens,
            text=best.text,
            avg_logprob=best.avg_logprob,
            no_speech_prob=self._no_speech_prob,
            temperature=self._options.temperature,
            compression_ratio=compression_ratio(best.text),
            hypotheses=hypotheses,
            alternatives=alternatives(hypotheses),
        )
        if self._recorder:
            self._recorder.finish(result)
        return result

    def _filtered(self, raw: Array, sampled: Sequence[tuple[int, ...]]) -> Array:
        """What the filters make of logits (n_batch, n_vocab), in a new array."""
        filtered = raw + 0  # a copy, whatever the array type
        for logit_filter in self._filters:
            logit_filter.apply(filtered, sampled)
        return filtered

    def _scores(self, filtered: Array, norms: Array, sampled: Sequence[tuple[int, ...]]) -> Array:
        """What the search compares: log-probabilities after the filters, changed by the scorers."""
        scores = filtered - norms
        for scorer in self._scorers:
            scorer.adjust(scores, sampled)
        return scores

    def _check(self, proposal: Proposal, candidates: Candidates) -> None:
        if not np.isfinite(to_numpy(proposal.raw_norms)).all() or (
            proposal.no_speech_prob is not None and math.isnan(self._no_speech_prob)
        ):
            raise BackendError(
                f"expected logits that are finite or -inf, but those of position {self._n_steps} hold NaN or inf, or "
                "nothing but -inf; check the audio for NaN, or load the model with precision='float32'"
            )
        if not self._n_steps and not candidates.row(0):
            raise OptionError(
                "no token is left to sample: suppress_tokens and the other filters forbid them all; ban fewer tokens"
            )

    def _hypothesis(self, rank: int, beam: Beam) -> Hypothesis:
        has_end = beam.tokens[-1:] == (self._tokenizer.eot,)
        n_token = len(beam.tokens) - has_end
        tokens, logprobs, eot = beam.tokens[:n_token], beam.logprobs[:n_token], self._tokenizer.eot
        mean_logprob = mean_text_logprob(tokens, logprobs, eot)
        return Hypothesis(
            tokens=tokens,
            text=self._tokenizer.decode(tokens).strip(),
            sum_logprob=beam.sum_logprob,
            score=self._ranker.score(beam),
            rank=rank,
            token_logprobs=logprobs,
            token_raw_logprobs=beam.raw_logprobs[:n_token],
            stop="eot" if has_end else beam.stop,
            token_probs=token_probabilities(tokens, logprobs, mean_logprob, eot),
            words=score_words(tokens, logprobs, mean_logprob, self._tokenizer),
        )

    def _no_speech(self, logits: Array) -> Array:
        """Probability of the no-speech token from raw logits (n_vocab,)."""
        difference = logits[self._tokenizer.no_speech] - logsumexp(logits)
        return math.e**difference


def compression_ratio(text: str) -> float:
    """UTF-8 bytes over zlib-compressed bytes; high when a text repeats itself."""
    data = text.encode("utf-8")
    return len(data) / len(zlib.compress(data))
