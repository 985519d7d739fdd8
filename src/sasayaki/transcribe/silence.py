"""The no-speech rule: when a window is taken for silence."""

from __future__ import annotations

from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult


def is_silent(result: DecodingResult, options: TranscribeOptions) -> bool:
    """Whether the window holds no speech: the model says so, and its own text does not convince it.

    That is `no_speech_prob` above `no_speech_threshold`, and `avg_logprob` below `logprob_threshold` where that one is
    set (openai/whisper 1279 and 1903).
    """
    if options.no_speech_threshold is None or result.no_speech_prob <= options.no_speech_threshold:
        return False
    return options.logprob_threshold is None or result.avg_logprob < options.logprob_threshold
