"""A Whisper object over the scripted engine, which hears tones: each is a word, or what a script makes of it."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.audio import log_mel_spectrogram
from sasayaki.model import Whisper
from tests.fakes import (
    LANGUAGES,
    N_VOCAB,
    SOT,
    Script,
    ScriptedInference,
    byte_tokenizer,
    english_tokenizer,
    say,
    text,
    ts,
)

SAMPLE_RATE = 16000
TONES = {"low": 300, "middle": 1000, "high": 3000, "top": 6000}
"""Name and frequency in Hz of the tones."""

Waveform = npt.NDArray[np.float32]


def tone(name: str, seconds: float) -> Waveform:
    """A tone of that name."""
    time = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (0.5 * np.sin(2 * np.pi * TONES[name] * time)).astype(np.float32)


def wav(*channels: Waveform) -> bytes:
    """A WAV file of 16 bits with some channels of equal length."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((len(channels), 2, SAMPLE_RATE, 0, "NONE", ""))
        writer.writeframes((np.stack(channels, axis=1) * 32767).astype("<i2").tobytes())
    return file.getvalue()


def heard(mel: npt.NDArray[np.float32]) -> str:
    """The tone at the start of a window, or `silence`."""
    start = mel[:, :20].mean(axis=1)
    if start.max() - start.min() < 0.1:
        return "silence"
    return min(TONES, key=lambda name: abs(_band(name) - int(start.argmax())))


@cache
def _band(name: str) -> int:
    return int(log_mel_spectrogram(tone(name, 0.5)).mean(axis=1).argmax())


def sentence(words: str, seconds: float = 30.0) -> tuple[int, ...]:
    """Tokens of a window with one segment from its start to `seconds`."""
    return (ts(0), *text(f" {words}"), ts(seconds))


def speak(says: Mapping[str, Sequence[int]] | None = None, *, language: str = "en") -> Script:
    """A script that says for each tone the tokens given, or its name, and detects one language."""
    tokens = {name: sentence(name) for name in (*TONES, "silence")} | dict(says or {})

    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        if history == (SOT,):
            return language_logits({language: 5.0})
        return say(tokens[name])(name, history)

    return script


def language_logits(logits: Mapping[str, float]) -> npt.NDArray[np.float32]:
    """Logits of the first position: some for languages, a higher one for a text token."""
    found = np.zeros(N_VOCAB, np.float32)
    found[65] = 9.0
    for code, logit in logits.items():
        found[SOT + 1 + LANGUAGES.index(code)] = logit
    return found


def make_model(script: Script | None = None, *, name_audio: Callable[[np.ndarray], object] = heard) -> Whisper:
    """A multilingual model; its engine is `model.inference`."""
    inference = ScriptedInference(script or speak(), name_audio=name_audio)
    return Whisper(inference, byte_tokenizer(), suppress=(), name="scripted")


def make_english_model(script: Script | None = None) -> Whisper:
    """An English-only model."""
    inference = ScriptedInference(script or speak(), name_audio=heard, is_multilingual=False)
    return Whisper(inference, english_tokenizer(), suppress=(), name="scripted.en")


def mel_of(*names: str) -> npt.NDArray[np.float32]:
    """Windows of 30 s, (n_audio, 80, 3000)."""
    return np.stack([log_mel_spectrogram(tone(name, 30)) for name in names])
