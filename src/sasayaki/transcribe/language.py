"""The language of a recording and that of each of its windows."""

from __future__ import annotations

from sasayaki.audio.constants import N_FRAMES
from sasayaki.decoding.language import DetectedLanguage
from sasayaki.options import TranscribeOptions, parse_languages
from sasayaki.transcribe.requests import Asking, Detect, Window


def recording_language(options: TranscribeOptions) -> Asking[DetectedLanguage]:
    """The language of the first 30 s, silence behind a shorter recording included."""
    detected: DetectedLanguage = yield Detect(Window(0, N_FRAMES), parse_languages(options.languages))
    return detected


def window_language(window: Window, options: TranscribeOptions, previous: str) -> Asking[str]:
    """With `multilingual` the window's own language if it is likely enough, else that of the window before."""
    if not options.multilingual:
        return previous
    detected: DetectedLanguage = yield Detect(window, parse_languages(options.languages))
    is_likely = detected.probs[detected.code] >= options.language_detection_threshold
    return detected.code if is_likely else previous
