"""`import sasayaki as whisper`: what openai/whisper's README shows runs as it stands."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import sasayaki
from sasayaki import model as model_module
from tests.fakes import say
from tests.scripted_model import make_model, sentence, speak

RECORDING = Path(__file__).parent / "data" / "en_jfk.mp3"

TRANSCRIBE = """
import sasayaki as whisper

model = whisper.load_model("turbo")
result = model.transcribe("audio.mp3")
print(result["text"])
"""

DECODE = """
import sasayaki as whisper

model = whisper.load_model("turbo")
audio = whisper.pad_or_trim(whisper.load_audio("audio.mp3"))
mel = whisper.log_mel_spectrogram(audio, n_mels=model.dims.n_mels).to(model.device)
_, probs = model.detect_language(mel)
print(max(probs, key=probs.get))
result = whisper.decode(model, mel, whisper.DecodingOptions())
print(result.text)
"""


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A model that hears the same in every recording, and a recording in the working folder."""

    def script(name, history):
        return (
            speak(language="de")("low", history) if len(history) == 1 else say(sentence("ask not", 11))(name, history)
        )

    monkeypatch.setattr(model_module, "load_model", lambda name: make_model(script))
    shutil.copy(RECORDING, tmp_path / "audio.mp3")
    monkeypatch.chdir(tmp_path)


def test_a_file_is_transcribed(capsys: pytest.CaptureFixture[str]) -> None:
    exec(TRANSCRIBE, {})
    assert capsys.readouterr().out == " ask not\n"


def test_a_window_is_decoded(capsys: pytest.CaptureFixture[str]) -> None:
    exec(DECODE, {})
    assert capsys.readouterr().out == "de\nask not\n"


def test_the_names_of_openai_whisper_are_there() -> None:
    for name in (
        *("available_models", "decode", "detect_language", "load_audio", "load_model", "log_mel_spectrogram"),
        *("pad_or_trim", "transcribe", "DecodingOptions", "DecodingResult"),
    ):
        assert hasattr(sasayaki, name)
