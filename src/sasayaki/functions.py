"""openai/whisper's functions of a model and its input; they call the methods of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sasayaki.transcribe  # noqa: F401 - the package, if it came later, would take the public function's place
from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult, Transcription

if TYPE_CHECKING:
    from sasayaki.audio import AudioSource
    from sasayaki.inference.base import Array
    from sasayaki.model import Whisper


def decode(
    model: Whisper,
    mel: Array,
    options: DecodingOptions | Sequence[DecodingOptions] | None = None,
    **overrides: Any,
) -> DecodingResult | list[DecodingResult]:
    """`model.decode`: decode one window of 30 s, or a batch of them."""
    return _model(model).decode(mel, options, **overrides)


def detect_language(
    model: Whisper, mel: Array, *, languages: str | Sequence[str] | None = None
) -> tuple[int, dict[str, float]] | tuple[list[int], list[dict[str, float]]]:
    """`model.detect_language`: language token and probabilities of a window, or lists of them for a batch."""
    return _model(model).detect_language(mel, languages=languages)


def transcribe(model: Whisper, audio: AudioSource, **options: Any) -> Transcription:
    """`model.transcribe`: transcribe a recording of any length."""
    return _model(model).transcribe(audio, **options)


def _model(model: Whisper) -> Whisper:
    if not hasattr(model, "detect_language"):
        raise OptionError(f"the first argument must be a model, such as load_model('base') gives, got {model!r}")
    return model
