"""What is transcribed: recordings of a manifest, one by one or joined into one long recording."""

from __future__ import annotations

import csv
import random
import wave
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

RATE = 16000
BLOCK = 60 * RATE
PAUSES = (0.3, 1.0, 0.5, 0.8, 0.4, 0.9, 0.6)
"""Seconds of silence behind joined recordings, in turn."""

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Clip:
    """A row of a manifest.

    Attributes:
        path: the audio.
        language: code of the language.
        seconds: duration.
        text: what is said.
    """

    path: Path
    language: str
    seconds: float
    text: str


@dataclass(frozen=True)
class Recording:
    """Audio to transcribe: 16 kHz samples (n_samples,), their language and what is said."""

    name: str
    samples: Samples
    language: str
    text: str

    @property
    def seconds(self) -> float:
        """Duration."""
        return len(self.samples) / RATE


def read_manifest(path: Path, *, language: str, max_seconds: float = 30.0) -> list[Clip]:
    """The clips of a language with a text and at most so many seconds; other columns are passed over.

    Args:
        path: tab-separated, with the columns file, language, seconds and text; files are relative to it.
        language: code.
        max_seconds: longest clip.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    clips = [Clip(path.parent / row["file"], row["language"], float(row["seconds"]), row["text"]) for row in rows]
    return [clip for clip in clips if clip.language == language and clip.text.strip() and clip.seconds <= max_seconds]


def join(clips: Sequence[Clip], load: Callable[[Path], Samples], *, seconds: float, order: int = 0) -> Recording:
    """A recording of at least so many seconds: the clips in turn with pauses, each text once, then from the start.

    Fewer seconds than all clips have take some from every part of the manifest. Orders other than 0 are shuffled.
    """
    distinct = list({clip.text: clip for clip in reversed(clips)}.values())[::-1]
    if not distinct:
        raise ValueError("expected clips to join, got none; is the language in the manifest?")
    chosen = spread(distinct, seconds)
    if order:
        random.Random(order).shuffle(chosen)
    loaded = {clip.path: load(clip.path) for clip in chosen}
    parts: list[Samples] = []
    texts: list[str] = []
    n_samples = 0
    while n_samples < seconds * RATE:
        clip = chosen[len(texts) % len(chosen)]
        pause = np.zeros(round(PAUSES[len(texts) % len(PAUSES)] * RATE), np.float32)
        parts += [loaded[clip.path], pause]
        n_samples += len(parts[-2]) + len(pause)
        texts.append(clip.text.strip())
    name = f"joined-{seconds:g}s" + f"-{order}" * bool(order)
    return Recording(name, np.concatenate(parts), clip.language, " ".join(texts))


def spread(clips: Sequence[Clip], seconds: float) -> list[Clip]:
    """Evenly spread clips that last about so many seconds with their pauses; all of them where they last less."""
    total = sum(clip.seconds for clip in clips) + len(clips) * sum(PAUSES) / len(PAUSES)
    n = min(len(clips), max(1, round(len(clips) * seconds / total)))
    return [clips[index * len(clips) // n] for index in range(n)]


def one_by_one(clips: Iterable[Clip], load: Callable[[Path], Samples]) -> list[Recording]:
    """Each clip as a recording."""
    return [Recording(clip.path.name, load(clip.path), clip.language, clip.text) for clip in clips]


def with_text(path: Path, language: str, load: Callable[[Path], Samples]) -> Recording:
    """A recording whose text is in the file of the same name that ends in `.txt`."""
    return Recording(path.stem, load(path), language, path.with_suffix(".txt").read_text(encoding="utf-8"))


def write_wave(path: Path, samples: Samples) -> None:
    """Write a WAV file of 16 bits."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        for first in range(0, len(samples), BLOCK):
            block = samples[first : first + BLOCK]
            file.writeframes((block.clip(-1, 1) * 32767).astype("<i2").tobytes())


def read_samples(path: Path, most: int | None = None) -> Samples:
    """Samples of a file that `write_wave` made, at most so many from its beginning."""
    with wave.open(str(path)) as file:
        n_samples = file.getnframes()
        content = file.readframes(n_samples if most is None else min(most, n_samples))
    return np.frombuffer(content, "<i2").astype(np.float32) / 32767
