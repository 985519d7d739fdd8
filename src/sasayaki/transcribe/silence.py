"""Silence: stretches that are passed over, and when a window is taken for silent, or surely for speech."""

from __future__ import annotations

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.requests import Asking, Listen, Window
from sasayaki.vad.voice import Voice

LEAD_FRAMES = 20
"""Frames of silence that are left before the first sound of a window."""

MIN_SKIP_FRAMES = 100
"""Silence at the start of a window that is shorter than this is not passed over: a window's first timestamp may be as
late as this."""


SURE_OF_SPEECH = 0.2
"""A no-speech probability up to this, and text that is `SURE_OF_TEXT`, leave no doubt."""

SURE_OF_TEXT = -0.5
"""An average log-probability from this on."""

UNSURE_OF_SPEECH = 0.4
"""With a no-speech probability above this the model leans to silence."""


def next_window(seek: int, end: int, options: TranscribeOptions) -> Asking[tuple[Window, Voice | None]]:
    """The next window from frame `seek` on, up to `end` at most, and the voice activity in it.

    It begins shortly before the first moment that is not surely silent. If there is none in 30 s, it has no frames and
    stands behind them. Without voice activity detection it begins at once.
    """
    window = Window(seek, min(seek + N_FRAMES, end))
    if not options.listens:
        return window, None
    voice: Voice = yield Listen(window, options)
    start = round(voice.first_sound() * FRAMES_PER_SECOND)
    if start >= window.end:
        return Window(window.end, window.end), voice
    if start - LEAD_FRAMES - seek >= MIN_SKIP_FRAMES:
        window = Window(start - LEAD_FRAMES, min(start - LEAD_FRAMES + N_FRAMES, end))
        voice = yield Listen(window, options)
    return window, voice


def is_silent(result: DecodingResult, options: TranscribeOptions) -> bool:
    """Whether the window holds no speech: the model says so, and its own text does not convince it.

    That is `no_speech_prob` above `no_speech_threshold`, and `avg_logprob` below `logprob_threshold` where that one is
    set (openai/whisper 1279 and 1903).
    """
    if options.no_speech_threshold is None or result.no_speech_prob <= options.no_speech_threshold:
        return False
    return options.logprob_threshold is None or result.avg_logprob < options.logprob_threshold


def is_sure(no_speech_prob: float, avg_logprob: float) -> bool:
    """Whether the model has no doubt that somebody speaks, and says this."""
    return no_speech_prob <= SURE_OF_SPEECH and avg_logprob >= SURE_OF_TEXT


def is_doubted(no_speech_prob: float, avg_logprob: float) -> bool:
    """Whether the model leans to silence, or doubts both that somebody speaks and what it says."""
    is_unsure = no_speech_prob > SURE_OF_SPEECH and avg_logprob < SURE_OF_TEXT
    return is_unsure or no_speech_prob > UNSURE_OF_SPEECH
