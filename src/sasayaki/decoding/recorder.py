"""Records what a decode does into a trace, from outside: the decode itself is the same with and without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.decoding.arrays import to_numpy
from sasayaki.decoding.filters.base import LogitFilter
from sasayaki.decoding.prompt import InitialTokens
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.decoding.stages import describe_rows, rounded, spell
from sasayaki.inference.base import AlignmentInference, Array, AudioFeatures, Inference
from sasayaki.options import WindowOptions
from sasayaki.results import DecodingResult
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.trace import (
    AttentionMap,
    DecodeFinished,
    DecodeStarted,
    DecodeStep,
    Offspring,
    RankedHypothesis,
    Trace,
)


@dataclass(frozen=True, slots=True)
class Tracer:
    """Knows where decodes are recorded, and as part of which window.

    Attributes:
        trace: what is recorded into.
        inference: the engine, asked for attention after each decode if it can tell.
        heads: (layer, head) pairs whose attention follows the audio; None takes all of the upper half of the layers.
        window: number of the window of a transcription; None for decodes of their own.
        decodes: number and result of each decode so far, in order.
    """

    trace: Trace
    inference: Inference
    heads: tuple[tuple[int, int], ...] | None = None
    window: int | None = None
    decodes: list[tuple[int, DecodingResult]] = field(default_factory=list)

    def next_window(self) -> Tracer:
        """A tracer for the decodes of the next window."""
        return replace(self, window=self.trace.next_window(), decodes=[])

    def begin(
        self,
        audio: AudioFeatures,
        tokenizer: Tokenizer,
        options: WindowOptions,
        initial: InitialTokens,
        language_probs: Mapping[str, float] | None,
    ) -> DecodeRecorder:
        """Record that a decode begins."""
        return DecodeRecorder(self, audio, tokenizer, options, initial, language_probs)

    def attention(self, audio: AudioFeatures, tokens: Sequence[int], n_initial: int) -> npt.NDArray[np.float32] | None:
        """Mean attention of the heads when each token behind the first `n_initial` was predicted.

        (n_sampled, n_audio_ctx) float32; None when the engine cannot tell, or nothing was sampled.
        """
        if len(tokens) <= n_initial or not isinstance(self.inference, AlignmentInference):
            return None
        heads = self.inference.cross_attention(audio, tuple(tokens[:-1]), self.alignment_heads())
        mean: npt.NDArray[np.float32] = to_numpy(heads)[:, n_initial - 1 :].mean(axis=0)
        return mean

    def alignment_heads(self) -> tuple[tuple[int, int], ...]:
        """The heads that are looked at."""
        dims = self.inference.dims
        upper_half = range(dims.n_text_layer // 2, dims.n_text_layer)
        return self.heads or tuple((layer, head) for layer in upper_half for head in range(dims.n_text_head))


class DecodeRecorder:
    """Records one decode: its beginning when it is made, its steps, its result."""

    def __init__(
        self,
        tracer: Tracer,
        audio: AudioFeatures,
        tokenizer: Tokenizer,
        options: WindowOptions,
        initial: InitialTokens,
        language_probs: Mapping[str, float] | None,
    ) -> None:
        self._tracer = tracer
        self._audio = audio
        self._tokenizer = tokenizer
        self._options = options
        self._initial = initial
        self._language_probs = language_probs
        self._number = tracer.trace.next_decode()
        self._n_steps = 0
        self._stages: list[npt.NDArray[np.float32]] = []

    def watch(self, filters: Sequence[LogitFilter]) -> list[LogitFilter]:
        """The filters, so wrapped that the recorder sees the logits between them."""
        names = tuple(getattr(one, "name", type(one).__name__) for one in filters)
        self._tracer.trace.record(
            DecodeStarted(
                decode=self._number,
                window=self._tracer.window,
                language=self._tokenizer.language or "en",
                language_probs=self._language_probs,
                initial_tokens=self._initial.tokens,
                initial_text=self._tokenizer.decode_with_timestamps(self._initial.tokens),
                stages=names,
                eot=self._tokenizer.eot,
                timestamp_begin=self._tokenizer.timestamp_begin,
                options=plain_options(self._options),
            )
        )
        return [_Watched(logit_filter, self._stages) for logit_filter in filters]

    def step(self, before: SearchState, candidates: Candidates, after: SearchState) -> None:
        """Record a step: `candidates` were offered, `after` is what the search made of them."""
        rows = describe_rows(self._stages, before.beams, candidates, self._tokenizer)
        self._stages.clear()
        known = {id(beam) for beam in before.finished}
        ended = [beam for beam in after.finished if id(beam) not in known]
        stuck = {beam.tokens for beam in before.beams}  # rows that the filters left no token
        grown = [(beam, row) for beam, row in zip(after.beams, after.sources, strict=True) if beam.tokens not in stuck]
        ended += [beam for beam in after.beams if beam.tokens in stuck]
        self._tracer.trace.record(
            DecodeStep(
                decode=self._number,
                index=self._n_steps,
                rows=rows,
                living=tuple(self._offspring(beam, row) for beam, row in grown),
                finished=tuple(self._ended(beam, before.beams) for beam in ended),
            )
        )
        self._n_steps += 1

    def finish(self, result: DecodingResult) -> None:
        """Record the result, and the attention that its tokens were predicted with."""
        trace, tokens = self._tracer.trace, result.tokens
        self._tracer.decodes.append((self._number, result))
        trace.record(
            DecodeFinished(
                decode=self._number,
                text=result.text,
                temperature=result.temperature,
                avg_logprob=rounded(result.avg_logprob),
                compression_ratio=rounded(result.compression_ratio),
                no_speech_prob=rounded(result.no_speech_prob),
                hypotheses=tuple(
                    RankedHypothesis(
                        tokens=hypothesis.tokens,
                        text=hypothesis.text,
                        score=rounded(hypothesis.score),
                        sum_logprob=rounded(hypothesis.sum_logprob),
                        stop=hypothesis.stop,
                    )
                    for hypothesis in result.hypotheses
                ),
            )
        )
        initial = self._initial.tokens
        weights = self._tracer.attention(self._audio, (*initial, *tokens), len(initial))
        if weights is not None:
            texts = tuple(spell(self._tokenizer, token) for token in tokens)
            heads = self._tracer.alignment_heads()
            trace.record(AttentionMap.pack(weights, decode=self._number, texts=texts, heads=heads))

    def _offspring(self, beam: Beam, row: int) -> Offspring:
        token = beam.tokens[-1]
        return Offspring(
            row=row, token=token, text=spell(self._tokenizer, token), sum_logprob=rounded(beam.sum_logprob)
        )

    def _ended(self, beam: Beam, parents: Sequence[Beam]) -> Offspring:
        """A hypothesis that ended: a row with the end token, or the beginning of a row."""
        has_end = beam.tokens[-1:] == (self._tokenizer.eot,)
        body = beam.tokens[:-1] if has_end else beam.tokens
        rows = [row for row, parent in enumerate(parents) if parent.tokens[: len(body)] == body]
        row = next((row for row in rows if parents[row].slot == beam.slot), rows[0])
        if has_end:
            return replace(self._offspring(beam, row), stop="eot")
        return Offspring(row=row, token=None, text="", sum_logprob=rounded(beam.sum_logprob), stop=beam.stop)


class _Watched:
    """A filter that leaves copies of the logits before it (the first one only) and after it."""

    def __init__(self, inner: LogitFilter, stages: list[npt.NDArray[np.float32]]) -> None:
        self._inner = inner
        self._stages = stages

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        if not self._stages:
            self._stages.append(np.array(to_numpy(logits)))
        self._inner.apply(logits, sampled)
        self._stages.append(np.array(to_numpy(logits)))


def plain_options(options: WindowOptions) -> dict[str, Any]:
    """The options as values of JSON; what is none, such as a filter of your own, as its representation."""
    return {field.name: _plain(getattr(options, field.name)) for field in fields(options)}


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Iterable):
        return [_plain(entry) for entry in value]
    return repr(value)
