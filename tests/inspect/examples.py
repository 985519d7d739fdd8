"""A scripted transcription of a few windows, a synthetic trace of ten long minutes, and what a page holds."""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sasayaki.model import Whisper
from sasayaki.trace import (
    AttentionMap,
    BannedToken,
    DecodeFinished,
    DecodeStarted,
    DecodeStep,
    FilterEffect,
    Offspring,
    RankedHypothesis,
    StepCandidate,
    StepRow,
    Trace,
    TranscriptionStarted,
    WindowAttempt,
    WindowFinished,
    WindowSegment,
    WindowWord,
)
from tests.fakes import EOT, TIMESTAMP_BEGIN, TRANSCRIBE, FakeAudio, ScriptedInference, byte_tokenizer, text, ts

SAID = (ts(0.0), *text("Good-morning"), ts(4.0), ts(4.0), *text("<b>&friends</b>"), ts(9.0), ts(9.0))
RIVAL, BANNED = ord("x"), ord("(")


def script(_: object, history: tuple[int, ...]) -> np.ndarray:
    """Says `SAID` in every window, with a rival and a token that a filter bans next to each of its tokens."""
    begin = max(place for place, token in enumerate(history) if EOT < token < TIMESTAMP_BEGIN) + 1
    place = len(history) - begin
    token = SAID[place] if 0 <= place < len(SAID) else EOT
    logits = np.full(TIMESTAMP_BEGIN + 1501, -20.0, np.float32)
    logits[[token, RIVAL, BANNED]] = 5.0, 4.0, 3.0
    return logits


class Doubt:
    """A script that is unsure of its second decode, the first one of the second window."""

    def __init__(self) -> None:
        self.n_decodes = 0

    def __call__(self, audio: object, history: tuple[int, ...]) -> np.ndarray:
        if history[-1] == TRANSCRIBE:
            self.n_decodes += 1
        logits = script(audio, history)
        return logits * 0.12 if self.n_decodes == 2 else logits


class Gazing(ScriptedInference):
    """A scripted engine whose head looks at a fifth of a second for each token, one after the other."""

    def cross_attention(
        self, audio: FakeAudio, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> np.ndarray:
        weights = np.full((len(heads), len(tokens), 1500), 1e-3, np.float32)
        for place in range(len(tokens)):
            weights[:, place, 10 * place : 10 * place + 10] = 0.1
        return weights


def recording(seconds: float = 50.0) -> np.ndarray:
    """A tone that comes and goes."""
    time = np.arange(int(16_000 * seconds)) / 16_000
    return (0.3 * np.sin(2 * np.pi * 440 * time) * (np.sin(time) > 0)).astype(np.float32)


def scripted_model() -> Whisper:
    """Says the same in every window."""
    return Whisper(Gazing(Doubt()), byte_tokenizer(), alignment_heads=((0, 0),), name="scripted")


def transcribed(seconds: float = 50.0, **options: Any) -> tuple[Trace, np.ndarray]:
    """The trace of a transcription, and the recording."""
    samples, trace = recording(seconds), Trace()
    given = {
        "language": "en",
        "beam_size": 3,
        "temperature": (0.0, 0.2),
        "condition_on_previous_text": False,
        "suppress_tokens": str(BANNED),
        "vad": "off",
        "short_context": False,
    }
    scripted_model().transcribe(samples, trace=trace, **{**given, **options})
    return trace, samples


def with_words(trace: Trace) -> Trace:
    """The same transcription with word times: two words in each segment, the first of five bytes."""

    def worded(segment: WindowSegment) -> WindowSegment:
        middle = (segment.start + segment.end) / 2
        words = (
            WindowWord(word=segment.text[:5], start=segment.start + 0.5, end=middle, probability=0.25),
            WindowWord(word=segment.text[5:], start=middle, end=segment.end, probability=0.75),
        )
        return replace(segment, words=words)

    return Trace(
        replace(event, segments=tuple(map(worded, event.segments))) if isinstance(event, WindowFinished) else event
        for event in trace
    )


def with_rejected(trace: Trace) -> Trace:
    """The same transcription, in which the second segment of each window is rejected and the third is recovered."""

    def judged(window: WindowFinished) -> WindowFinished:
        first, second = window.segments
        rejected = replace(second, rejected="no_voice", speech=0.25)
        recovered = replace(second, text="found", recovered=True, start=second.end, end=second.end + 2)
        return replace(window, segments=(first, recovered), rejected=(rejected,))

    return Trace(judged(event) if isinstance(event, WindowFinished) and event.window < 5 else event for event in trace)


def embedded(page: str, name: str) -> Any:
    """What an element of data of a page holds: JSON, or the bytes of a packed block."""
    found = re.search(rf'<script type="([a-z/]+)" id="{name}">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    if found[1] == "application/json":
        return json.loads(found[2])
    unpacked = gzip.decompress(base64.b64decode(found[2]))
    return json.loads(unpacked) if name.startswith("data") else unpacked


def noise(seconds: int) -> np.ndarray:
    """The recording that compresses worst."""
    return np.random.default_rng(0).normal(0, 0.1, 16_000 * seconds).astype(np.float32)


def long_trace(*, seconds: int = 600, n_steps: int = 80, n_rows: int = 5, n_attempts: int = 1) -> Trace:
    """A trace as large as one of a real model: full windows of random figures, `n_attempts` decodes each."""
    trace = Trace()
    trace.record(
        TranscriptionStarted(
            model="synthetic", duration=float(seconds), language="en", language_probs={"en": 1.0}, options={}
        )
    )
    events = list(_decode_events(n_steps, n_rows))
    for window, start in enumerate(range(0, seconds, 28)):
        decodes = range(window * n_attempts, (window + 1) * n_attempts)
        for decode in decodes:
            for event in events:
                trace.record(replace(event, decode=decode))
        trace.record(
            WindowFinished(
                window=window,
                seek=100 * start,
                end=100 * min(start + 30, seconds),
                next_seek=100 * min(start + 28, seconds),
                language="en",
                attempts=tuple(WindowAttempt(decode=decode, temperature=0.0, failed=()) for decode in decodes),
                kept=decodes[-1],
                is_silent=False,
                segments=(WindowSegment(id=window, start=start, end=start + 28, text=" words" * 40),),
            )
        )
    return trace


def _decode_events(n_steps: int, n_rows: int) -> Iterator[Any]:
    """A decode whose first row wins."""
    draw = random.Random(0)
    stages = ("SuppressBlank", "SuppressTokens", "ApplyTimestampRules")
    yield DecodeStarted(
        decode=0,
        window=0,
        language="en",
        language_probs=None,
        initial_tokens=(1, 2, 3),
        initial_text="<|startoftranscript|>",
        stages=stages,
        eot=50_257,
        timestamp_begin=50_364,
        options={},
    )
    way: tuple[int, ...] = ()
    for index in range(n_steps):
        rows = tuple(_random_row(draw, (row, *way)[-len(way) :] if row else way, len(stages)) for row in range(n_rows))
        taken = [row.candidates[0].token for row in rows]
        living = tuple(
            Offspring(row=row, token=token, text=f" w{token}", sum_logprob=-draw.random())
            for row, token in enumerate(taken)
        )
        yield DecodeStep(decode=0, index=index, rows=rows, living=living, finished=())
        way = (*way, taken[0])
    said = " word" * n_steps
    best = RankedHypothesis(tokens=way, text=said, score=-0.3, sum_logprob=-9.0, stop="length")
    yield DecodeFinished(
        decode=0,
        text=said,
        temperature=0.0,
        avg_logprob=-0.3,
        compression_ratio=1.5,
        no_speech_prob=0.1,
        hypotheses=(best,),
    )
    weights = np.random.default_rng(0).random((n_steps, 1500), np.float32) ** 12
    yield AttentionMap.pack(weights, decode=0, texts=(" word",) * n_steps, heads=((0, 0),))


def _random_row(draw: random.Random, tokens: tuple[int, ...], n_stage: int) -> StepRow:
    found = [(draw.randrange(50_000), [-draw.expovariate(0.3) for _ in range(n_stage + 1)]) for _ in range(14)]
    candidates = tuple(
        StepCandidate(token=token, text=f" w{token}", logprobs=tuple(round(value, 4) for value in logprobs))
        for token, logprobs in found
    )
    banned = tuple(BannedToken(token=token, text=f" w{token}", prob=draw.random()) for token, _ in found[:5])
    effects = tuple(
        FilterEffect(n_banned=90, removed=draw.random(), n_changed=0, banned=banned) for _ in range(n_stage)
    )
    return StepRow(tokens=tokens, text="", sum_logprob=-draw.random(), effects=effects, candidates=candidates)
