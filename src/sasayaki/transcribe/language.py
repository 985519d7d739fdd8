"""The language of a recording and that of each of its windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.audio.constants import N_FRAMES
from sasayaki.decoding.language import DetectedLanguage
from sasayaki.option_values import parse_languages
from sasayaki.options import TranscribeOptions
from sasayaki.transcribe.requests import Asking, Detect, Window
from sasayaki.transcribe.short import shortened
from sasayaki.transcribe.silence import next_window


@dataclass(frozen=True, slots=True)
class WindowLanguage:
    """The language that a window is decoded in.

    Attributes:
        code: of the language.
        probability: that it is this one, by the last detection; NaN when it was given.
    """

    code: str
    probability: float = math.nan


def recording_language(options: TranscribeOptions, content_frames: int) -> Asking[DetectedLanguage]:
    """The language of a recording.

    Windows of 30 s in which somebody speaks are listened to until one has a language that is at least as likely as
    `language_detection_threshold`, at most `language_detection_windows` of them. When none has, the language with the
    highest mean probability is taken. Silence behind a shorter recording is part of its window.
    """
    languages = parse_languages(options.languages)
    heard: list[DetectedLanguage] = []
    seek = 0
    while seek < content_frames and len(heard) < (1 if options.compat else options.language_detection_windows):
        window, _ = yield from next_window(seek, content_frames, options)
        if window.n_frames:
            short = shortened(window, options)  # which is encoded once, to be decoded as well
            whole = Window(window.start, window.start + N_FRAMES)
            detected: DetectedLanguage = yield Detect(whole if short == window else short, languages)
            heard.append(detected)
            if detected.probs[detected.code] >= options.language_detection_threshold:
                return detected
        seek = window.start + N_FRAMES if window.n_frames else window.end
    if not heard:
        heard = [(yield Detect(Window(0, N_FRAMES), languages))]
    return majority(heard)


def majority(heard: Sequence[DetectedLanguage]) -> DetectedLanguage:
    """The language with the highest mean probability, and the mean probabilities."""
    probs = {code: sum(window.probs[code] for window in heard) / len(heard) for code in heard[0].probs}
    code = max(probs, key=lambda code: probs[code])
    tokens = {window.code: window.token for window in heard}
    return DetectedLanguage(code, tokens.get(code, heard[0].token), probs)


def window_language(window: Window, options: TranscribeOptions, previous: WindowLanguage) -> Asking[WindowLanguage]:
    """With `multilingual` the window's own language if it is likely enough, else that of the window before."""
    if not options.multilingual:
        return previous
    detected: DetectedLanguage = yield Detect(window, parse_languages(options.languages))
    is_likely = detected.probs[detected.code] >= options.language_detection_threshold
    code = detected.code if is_likely else previous.code
    return WindowLanguage(code, detected.probs.get(code, math.nan))
