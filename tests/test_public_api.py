"""The public names are frozen, and importing them is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sasayaki

NAMES = [
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

HEAVY = ["av", "huggingface_hub", "numpy", "openvino", "rich", "tiktoken", "torch", "tyro"]


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_public_names_are_these() -> None:
    assert sorted(sasayaki.__all__) == NAMES
    assert all(name in dir(sasayaki) for name in NAMES)
    assert all(getattr(sasayaki, name) is not None for name in NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transcripe'"):
        _ = sasayaki.transcripe


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, sasayaki; print(sorted(set({HEAVY}) & set(sys.modules)))"
    assert in_a_fresh_process(code) == "[]"


def test_reading_audio_needs_no_engine() -> None:
    code = "import sys, sasayaki; sasayaki.load_audio; print(sorted({'openvino', 'torch'} & set(sys.modules)))"
    assert in_a_fresh_process(code) == "[]"


@pytest.mark.parametrize("before", ["pass", "sasayaki.Whisper", "import sasayaki.transcribe.loop"])
def test_transcribe_is_a_function_whatever_was_imported_before(before: str) -> None:
    """The package of the same name took its place as soon as a model was loaded."""
    code = f"import sasayaki\n{before}\nsasayaki.Whisper\nprint(sasayaki.transcribe.__name__)"
    assert in_a_fresh_process(code) == "transcribe"


def test_a_star_import_works() -> None:
    assert (
        in_a_fresh_process("from sasayaki import *; print(Whisper.__name__, transcribe.__name__)")
        == "Whisper transcribe"
    )


def test_every_error_is_of_the_family() -> None:
    errors = [getattr(sasayaki, name) for name in NAMES if name.endswith("Error")]
    assert all(issubclass(error, sasayaki.SasayakiError) for error in errors)
    assert issubclass(sasayaki.OptionError, ValueError)
    assert issubclass(sasayaki.AudioError, ValueError)
