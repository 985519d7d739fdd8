"""Whisper speech recognition for Python whose heart is the decoder.

Nothing heavy is imported before it is used: engines and audio libraries come with the first model or recording.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sasayaki.errors import (
    AudioError,
    BackendError,
    CheckpointError,
    ModelNotFoundError,
    OptionError,
    OutputError,
    SasayakiError,
    StoppedError,
    TraceError,
)
from sasayaki.functions import decode, detect_language, transcribe
from sasayaki.grammar import Grammar
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.results import AlignedWord, Alignment, Attempt, DecodingResult, Hypothesis, Segment, Transcription, Word

if TYPE_CHECKING:
    from sasayaki.audio import load_audio, pad_or_trim
    from sasayaki.model import Whisper, available_models, get_model, load_model
    from sasayaki.spectrogram import log_mel_spectrogram
    from sasayaki.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "AlignedWord",
    "Alignment",
    "Attempt",
    "AudioError",
    "BackendError",
    "CheckpointError",
    "DecodingOptions",
    "DecodingResult",
    "Grammar",
    "Hypothesis",
    "ModelNotFoundError",
    "OptionError",
    "OutputError",
    "SasayakiError",
    "Segment",
    "StoppedError",
    "Trace",
    "TraceError",
    "TranscribeOptions",
    "Transcription",
    "Whisper",
    "Word",
    "available_models",
    "decode",
    "detect_language",
    "get_model",
    "load_audio",
    "load_model",
    "log_mel_spectrogram",
    "pad_or_trim",
    "transcribe",
]

_LATE = {
    "load_audio": "sasayaki.audio",
    "log_mel_spectrogram": "sasayaki.spectrogram",
    "pad_or_trim": "sasayaki.audio",
    "Trace": "sasayaki.trace",
    "Whisper": "sasayaki.model",
    "available_models": "sasayaki.model",
    "get_model": "sasayaki.model",
    "load_model": "sasayaki.model",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'sasayaki' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
