"""A model that says something random and lawful in every window, the same whenever it is asked again."""

from __future__ import annotations

import random
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.inference.base import AudioFeatures
from sasayaki.model import Whisper
from tests.fakes import (
    EOT,
    N_VOCAB,
    NO_SPEECH,
    SOT,
    TIMESTAMP_BEGIN,
    ScriptedInference,
    byte_tokenizer,
    start_of_sampling,
)

SAMPLE_RATE = 16000
WORDS = (
    "a",
    "bb",
    "0.",
    "12",
    "é",
    "猫",
    "<|endoftext|>",
    "[Music]",
    "...",
    "♪",
    "don't",
    "שלום",
    "😀",
    "x" * 30,
    "\n",
    "(",
)


class RandomInference(ScriptedInference):
    """Each window has a text of its own, with timestamps as they come, and attention that looks anywhere."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        super().__init__(self._logits, name_audio=lambda mel: (zlib.crc32(mel.tobytes()), mel.shape[1]))

    def _logits(self, name: object, history: tuple[int, ...]) -> npt.NDArray[np.float32]:
        tokens, height, no_speech = random_window(random.Random(f"{self._seed} {name}"))
        noise = self._noise(name, len(history), history[-1])
        logits = noise.normal(0, 1, N_VOCAB).astype(np.float32)
        logits[TIMESTAMP_BEGIN:] -= 4
        if history[-1] == SOT:
            logits[NO_SPEECH] = no_speech
            logits[SOT + 1 + noise.integers(5)] += 6 * noise.random()
        else:
            place = len(history) - start_of_sampling(history)
            logits[tokens[place] if place < len(tokens) else EOT] += height
        return logits

    def cross_attention(
        self, audio: AudioFeatures, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> npt.NDArray[np.float32]:
        noise = self._noise(audio, tokens)
        weights = noise.random((len(heads), len(tokens), 1500), np.float32) ** 20
        return weights / weights.sum(axis=-1, keepdims=True)

    def _noise(self, *what: Any) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(repr((self._seed, *what)).encode()))


def random_window(rng: random.Random) -> tuple[list[int], float, float]:
    """Tokens of a window, how sure the model is of them, and the logit of no speech."""
    kind = rng.choice(["pairs", "pairs", "single", "open", "no end", "habit", "empty"])
    steps = sorted(rng.sample(range(rng.choice([50, 200, 1500, 1500]) + 1), rng.choice([2, 4, 8])))
    tokens: list[int] = []
    for start, end in zip(steps[::2], steps[1::2], strict=True):
        said = random_text(rng) if kind != "habit" else [*b" 0.", *random_text(rng)]
        tokens += [TIMESTAMP_BEGIN + start, *said, TIMESTAMP_BEGIN + end]
    if kind in ("pairs", "habit"):
        tokens.append(tokens[-1])
    elif kind == "open":
        tokens += [tokens[-1], *random_text(rng)]
    elif kind == "no end":
        tokens = [TIMESTAMP_BEGIN, *random_text(rng)]
    elif kind == "empty":
        tokens = []
    return tokens, rng.choice([3.0, 8.0, 20.0, 20.0]), rng.choice([-3.0, -3.0, 6.0, 9.0, 20.0])


def random_text(rng: random.Random) -> list[int]:
    """Some words, none, a phrase that is said again and again, or half a character."""
    words = [rng.choice(WORDS) for _ in range(rng.choice([0, 1, 2, 5]))]
    if rng.random() < 0.15:
        words = words[:2] * rng.choice([4, 9])
    said = [*"".join(f" {word}" for word in words).encode()][:60]
    return said[:-1] if rng.random() < 0.1 else said


def random_sound(rng: random.Random, n_samples: int) -> npt.NDArray[np.float32]:
    """Tones between pauses, up to the last sample or not, sometimes with noise; or silence."""
    sound = np.zeros(n_samples, np.float32)
    at = 0
    while at < n_samples and rng.random() < 0.98:
        at += round(rng.choice([0, 0.1, 0.5, 3, 12]) * SAMPLE_RATE * rng.random())
        end = at + round(rng.choice([0.2, 1, 4, 20]) * SAMPLE_RATE * rng.random())
        sound[at:end] = 0.3 * np.sin(np.arange(len(sound[at:end])) * rng.choice([0.05, 0.1, 0.4]))
        at = end + 1
    noise = np.random.default_rng(rng.randrange(2**32)).normal(0, rng.choice([0, 1e-4, 1e-2]), n_samples)
    return sound + noise.astype(np.float32)


def random_model(seed: int) -> Whisper:
    """A model with two alignment heads; its engine is `model.inference`."""
    return Whisper(
        RandomInference(seed), byte_tokenizer(), suppress=(), alignment_heads=((0, 0), (0, 1)), name="random"
    )
