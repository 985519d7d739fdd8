"""Drives a loop with an engine: answers its requests one at a time, and encodes each window once."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sasayaki.alignment.levels import sound_levels
from sasayaki.alignment.recurrence import recurrence
from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.score import score_tokens
from sasayaki.decoding.task import DecodingTask
from sasayaki.errors import BackendError
from sasayaki.inference.base import AlignmentInference, AudioFeatures
from sasayaki.transcribe.ahead import Ahead
from sasayaki.transcribe.recording import Recording
from sasayaki.transcribe.requests import (
    Answer,
    Asking,
    Attend,
    Compare,
    Decode,
    Detect,
    Hear,
    Listen,
    Loop,
    Request,
    Score,
    Window,
    WindowResult,
    Windows,
)
from sasayaki.transcribe.short import positions
from sasayaki.vad.detector import FRAME_SECONDS, Listener
from sasayaki.vad.voice import Voice, listen

_Found = TypeVar("_Found")


def _go_on() -> None:
    """Check nothing."""


def _check_here(ahead: Ahead, check: Callable[[], None]) -> None:
    """Check, but not from another thread than the caller's."""
    if not ahead.is_here():
        check()


@dataclass
class Driver:
    """Answers requests about one recording.

    Attributes:
        decoder: the model.
        recording: what the windows are cut from.
        check: called before each step of the work; what it raises ends the work.
    """

    decoder: Decoder
    recording: Recording
    check: Callable[[], None] = _go_on
    _encoded: dict[Window, AudioFeatures] = field(default_factory=dict, init=False)
    _listener: Listener | None = field(default=None, init=False)

    def run(self, loop: Loop) -> Windows:
        """Run a loop to its end, and give each window as soon as it is final."""
        with closing(loop):
            answer: Answer = None
            while True:
                try:
                    step = loop.send(answer)
                except StopIteration:
                    return
                if isinstance(step, WindowResult):
                    self.forget()
                    answer = yield step
                else:
                    answer = self.answer(step)

    def find(self, part: Asking[_Found]) -> _Found:
        """Run a part of a loop to its end, and give what it found."""
        try:
            request = next(part)
            while True:
                request = part.send(self.answer(request))
        except StopIteration as end:
            found: _Found = end.value
            return found

    def answer(self, request: Request) -> Answer:
        """Do what is asked.

        Raises:
            BackendError: attention is asked of an engine that cannot tell.
        """
        self.check()
        if isinstance(request, Listen):
            return self._listen(request)
        window = request.window
        if isinstance(request, Hear | Compare):
            mel = self.recording.window(window)[:, : window.n_frames]
            return sound_levels(mel) if isinstance(request, Hear) else recurrence(mel, request.farthest)
        if isinstance(request, Decode):
            self._let_go(window)
        features = self.features(window)
        match request:
            case Detect():
                return self.decoder.detect_languages([features], request.languages)[0]
            case Decode():
                decoder = replace(self.decoder, tracer=request.tracer, step_check=self.check)
                return decoder.decode([features], [request.options])[0]
            case Score():
                return score_tokens(self.decoder.inference, features, request.tokens, request.begin)
            case Attend():
                inference = self.decoder.inference
                if not isinstance(inference, AlignmentInference):
                    raise BackendError(
                        f"expected an engine that tells where attention looks, got {type(inference).__name__}; "
                        "load the model with backend='openvino' or 'torch'"
                    )
                return inference.cross_attention(features, request.tokens, request.heads)

    def task(self, request: Decode) -> DecodingTask:
        """The decode that is asked for, for whoever drives it together with others."""
        return replace(self.decoder, tracer=request.tracer).task(self.features(request.window), request.options)

    def features(self, window: Window) -> AudioFeatures:
        """A window, encoded at its first use."""
        if window not in self._encoded:
            mel = np.asarray(self.recording.window(window))[None]
            self.take(window, self.decoder.inference.encode(mel, positions(window)[None])[0])
        return self._encoded[window]

    def missing(self, window: Window) -> npt.NDArray[np.float32] | None:
        """The mel (n_mels, window.context) of a window to be decoded, if it was not encoded yet."""
        self._let_go(window)
        return None if window in self._encoded else self.recording.window(window)

    def take(self, window: Window, features: AudioFeatures) -> None:
        """Keep an encoded window, and begin the work on the next one."""
        self._encoded[window] = features
        if window.end < self.recording.content_frames:
            self.recording.ahead.begin(partial(self._prepare, window.end))

    def forget(self) -> None:
        """Let go of the encoded windows."""
        self._encoded.clear()

    def _let_go(self, window: Window) -> None:
        """Forget all windows before one is encoded to be decoded: what was decoded before is not asked about again."""
        if window not in self._encoded:
            self.forget()

    def listener(self, kind: str) -> Listener:
        """What finds voice activity in the recording, made at its first use."""
        self.recording.ahead.settle()
        if self._listener is None:
            self._listener = Listener(
                self.recording.samples, kind, check=partial(_check_here, self.recording.ahead, self.check)
            )
        return self._listener

    def beside(self) -> Driver:
        """A driver for the same recording, with windows of its own."""
        other = Driver(self.decoder, self.recording, self.check)
        other._listener = self._listener
        return other

    def _prepare(self, start: int) -> None:
        """Compute what the window behind frame `start` will need, as far as it is kept by what computes it."""
        end = start + N_FRAMES
        self.recording.mel.read(start, end)
        if self._listener:
            frame = math.ceil(end / FRAMES_PER_SECOND / FRAME_SECONDS)
            self._listener.read(frame, frame)

    def _listen(self, request: Listen) -> Voice:
        listener = self.listener(request.options.vad)
        return listen(listener, request.window.start, request.window.end, request.options)
