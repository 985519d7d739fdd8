"""A decoder for the long-form loop: a function gives the result of each window, and every question is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from sasayaki.audio.samples import WaveformSamples
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.results import DecodingResult, Segment
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.recording import Recording
from tests.fakes import byte_tokenizer, dimensions


@dataclass(frozen=True)
class Question:
    """One decode that the loop asked for: frames from `seek` on, `size` of them audio."""

    seek: int
    size: int
    options: DecodingOptions


Answer = Callable[[Question], DecodingResult]


@dataclass
class ScriptedDecoder:
    """Takes the place of `sasayaki.decoding.decode.Decoder`, and of its engine, in the loop."""

    answer: Answer
    tokenizer: Tokenizer = field(default_factory=byte_tokenizer)
    questions: list[Question] = field(default_factory=list)
    contexts: list[int] = field(default_factory=list)
    tracer: None = None
    step_check: Any = None

    @property
    def inference(self) -> SimpleNamespace:
        return SimpleNamespace(dims=dimensions(), encode=self._encode)

    def _encode(self, mel: np.ndarray, positions: np.ndarray) -> list[tuple[int, int]]:
        assert positions.shape == (len(mel), mel.shape[-1] // 2)
        self.contexts += [mel.shape[-1]] * len(mel)
        return [(int(window[0, 0]), int(window[1].sum())) for window in mel]

    def decode(self, audios: Sequence[tuple[int, int]], options: Sequence[DecodingOptions]) -> list[DecodingResult]:
        asked = [Question(*audio, option) for audio, option in zip(audios, options, strict=True)]
        self.questions += asked
        return [self.answer(question) for question in asked]


@dataclass(frozen=True)
class WholeMel:
    """A spectrogram that is in memory."""

    frames: np.ndarray

    def read(self, start: int, end: int) -> np.ndarray:
        return self.frames[:, start:end]


def recording(content_frames: int) -> Recording:
    """A recording whose mel says of each frame which one it is, and whether it is audio."""
    mel = np.zeros((2, content_frames + 3000), np.float32)
    mel[0] = np.arange(mel.shape[1])
    mel[1, :content_frames] = 1
    return Recording(WholeMel(mel), content_frames, WaveformSamples(np.zeros(content_frames * 160, np.float32)))


def result(
    tokens: Sequence[int] = (),
    *,
    avg_logprob: float = -0.2,
    no_speech_prob: float = 0.0,
    compression_ratio: float = 1.0,
    temperature: float = 0.0,
) -> DecodingResult:
    """The result of a window; by default one that passes every threshold."""
    return DecodingResult(
        audio_features=None,
        language="en",
        tokens=tuple(tokens),
        text=byte_tokenizer().decode(tokens).strip(),
        avg_logprob=avg_logprob,
        no_speech_prob=no_speech_prob,
        temperature=temperature,
        compression_ratio=compression_ratio,
    )


def windows(*tokens: Sequence[int]) -> Answer:
    """Answers of successive windows, each passing at once; the last one goes on for ever."""
    seeks: list[tuple[int, int]] = []

    def answer(question: Question) -> DecodingResult:
        place = (question.seek, question.size)
        if place not in seeks:
            seeks.append(place)
        return result(tokens[min(seeks.index(place), len(tokens) - 1)], temperature=question.options.temperature)

    return answer


def run(decoder: ScriptedDecoder, content_frames: int, **options: object) -> list[Segment]:
    """All segments of a recording, transcribed in English without voice activity detection."""
    settled = TranscribeOptions(**({"vad": "off", "short_context": False} | options))
    return run_loop(decoder, recording(content_frames), settled, language="en")


def run_loop(decoder: Any, audio: Recording, options: TranscribeOptions, *, language: str) -> list[Segment]:
    """All segments of a recording."""
    work = Assignment(audio.content_frames, options, decoder.tokenizer, n_text_ctx=448, language=language)
    windows = Driver(decoder, audio).run(transcribe_recording(work, work.begin()))
    return [segment for window in windows for segment in window.segments]
