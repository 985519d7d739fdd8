"""Hold an engine of sasayaki to the golden facts from openai/whisper and print where they differ.

    compare_golden.py tests/golden/decode_base.json --audio tests/data --backend openvino
    compare_golden.py tests/golden/speech_open_base.json --audio FOLDER --backend torch --clips 'de_*' 'es_*'
    compare_golden.py tests/golden/transcribe_base.json --audio tests/data --backend torch

A window (or, for `transcribe_*.json`, a whole recording) is *equal* when language, tokens, text and, where
there are segments, their times agree. It is a *tie* when they do not, but the reference itself decided by at
most 1e-4 somewhere in it. Anything else is *different*, is listed, and makes the exit status 1. The largest
differences are over what is equal: sums of log-probabilities of windows, averages of segments. The reference's
own float32 log-softmax is about 2e-5 too high for each token, which shows in the sums of long windows. Times
after the end of a recording are cut to it before they are compared, as sasayaki does and the reference does not.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import sasayaki

TIE = 1e-4
SAMPLE_RATE = 16000

Facts = dict[str, Any]


@dataclass
class Tally:
    """Counts and largest differences of one configuration."""

    equal: int = 0
    ties: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    logprob: float = 0.0
    no_speech_prob: float = 0.0
    language_probability: float = 0.0

    def add(self, name: str, golden: Facts, ours: Facts) -> None:
        """Compare one window or recording; the figures count where the tokens agree."""
        if golden["decisions"] == ours["decisions"]:
            self.equal += 1
            for key in ("logprob", "no_speech_prob", "language_probability"):
                setattr(self, key, max(getattr(self, key), largest_difference(golden[key], ours[key])))
        elif golden["margin"] is not None and golden["margin"] <= TIE:
            self.ties.append(f"{name} (the reference decided by {golden['margin']:.1e})")
        else:
            pairs = zip_longest(golden["decisions"], ours["decisions"])
            expected, got = next((a, b) for a, b in pairs if a != b)
            self.different.append(f"{name}\n  reference {expected}\n  ours      {got}")

    def row(self, name: str) -> str:
        """One line of the table."""
        n_windows = self.equal + len(self.ties) + len(self.different)
        counts = f"{n_windows:8d}{self.equal:8d}{len(self.ties):8d}{len(self.different):11d}"
        figures = (self.logprob, self.no_speech_prob, self.language_probability)
        return f"{name:22s}{counts}" + "".join(f"{figure:13.1e}" for figure in figures)


def largest_difference(golden: list[float], ours: list[float]) -> float:
    """Largest absolute difference of two lists of equal length; a missing figure is infinitely far."""
    if len(golden) != len(ours):
        return float("inf")
    return max((abs(a - b) for a, b in zip(golden, ours, strict=True)), default=0.0)


def recordings(folder: Path, clips: list[Facts], patterns: list[str]) -> Iterator[tuple[Facts, np.ndarray]]:
    """Golden records with their samples, as the golden file joins them; missing audio is skipped aloud."""
    for clip in clips:
        if not any(fnmatch(clip["name"], pattern) for pattern in patterns):
            continue
        missing = [part for part in clip["parts"] if not (folder / part).exists()]
        if missing:
            print(f"skipped {clip['name']}: {folder} lacks {missing[0]}", file=sys.stderr)
            continue
        gap = np.zeros(round(clip["gap_seconds"] * SAMPLE_RATE), np.float32)
        pieces = [piece for part in clip["parts"] for piece in (gap, sasayaki.load_audio(folder / part))]
        samples = np.concatenate(pieces[1:])
        heard = hashlib.sha256((samples * 32768).astype("<i2").tobytes()).hexdigest()[:16]
        if heard != clip["samples_sha256"]:
            print(f"{clip['name']}: these are not the samples that the reference heard", file=sys.stderr)
        yield clip, samples


def window_facts(result: Facts, language: str, language_probability: float | None) -> Facts:
    """What is compared of a decoded window."""
    return {
        "decisions": [language, list(result["tokens"]), result["text"]],
        "margin": result.get("margin"),
        "logprob": [result["avg_logprob"] * (len(result["tokens"]) + 1)],
        "no_speech_prob": [result["no_speech_prob"]],
        "language_probability": [] if language_probability is None else [language_probability],
    }


def recording_facts(result: Facts, seconds: float) -> Facts:
    """What is compared of a transcribed recording of that many `seconds`."""
    segments = result["segments"]
    last = math.floor(seconds * 100) / 100  # mel frames of 10 ms: a part of one holds no end
    times = [[round(min(s[edge], last), 2) for edge in ("start", "end")] for s in segments]
    spoken = [[*edges, s["text"], list(s["tokens"])] for edges, s in zip(times, segments, strict=True)]
    return {
        "decisions": [result["language"], *spoken],
        "margin": result.get("margin"),
        "logprob": [s["avg_logprob"] for s in segments],
        "no_speech_prob": [s["no_speech_prob"] for s in segments],
        "language_probability": [],
    }


def compare_windows(model: Any, clip: Facts, samples: np.ndarray, options_of: Facts, tallies: dict[str, Tally]) -> None:
    """Decode the first 30 seconds in every configuration."""
    mel = sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(samples), n_mels=model.dims.n_mels)
    for name, options in options_of["decode"].items():
        result = sasayaki.decode(model, mel, sasayaki.DecodingOptions(**options))
        probability = (result.language_probs or {}).get(result.language)
        tallies.setdefault(name, Tally()).add(
            clip["name"],
            window_facts(clip["results"][name], clip["language"], clip["language_probability"]),
            window_facts(result.to_dict(), result.language, probability),
        )


def compare_recording(
    model: Any, clip: Facts, samples: np.ndarray, options_of: Facts, tallies: dict[str, Tally]
) -> None:
    """Transcribe the whole recording."""
    result = model.transcribe(samples, compat=True, **options_of[clip["job"]])
    tallies.setdefault(clip["job"], Tally()).add(
        clip["name"],
        recording_facts(clip, clip["seconds"]),
        recording_facts(result.to_dict(), clip["seconds"]),
    )


def report(tallies: dict[str, Tally]) -> int:
    """Print the table and what is not equal; the exit status."""
    titles = f"{'windows':>8s}{'equal':>8s}{'ties':>8s}{'different':>11s}"
    print(f"{'':22s}{titles}{'d logprob':>13s}{'d no_speech':>13s}{'d language':>13s}")
    for name, tally in tallies.items():
        print(tally.row(name))
    for name, tally in tallies.items():
        for line in tally.ties:
            print(f"tie, {name}: {line}")
        for line in tally.different:
            print(f"different, {name}: {line}")
    return int(any(tally.different for tally in tallies.values()))


def main() -> int:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("golden", type=Path, help="a file of tests/golden")
    parser.add_argument("--audio", type=Path, required=True, help="folder with the clips")
    parser.add_argument("--backend", default="openvino", help="engine to load: openvino or torch")
    parser.add_argument("--model", help="name or path of the model; that of the golden file by default")
    parser.add_argument("--clips", nargs="*", default=["*"], help="names or patterns; all by default")
    arguments = parser.parse_args()
    golden = json.loads(arguments.golden.read_text(encoding="utf-8"))
    name = arguments.model or golden["model"]
    model = sasayaki.load_model(name, backend=arguments.backend, precision="float32")
    tallies: dict[str, Tally] = {}
    for clip, samples in recordings(arguments.audio, golden["clips"], arguments.clips):
        compare = compare_windows if clip["job"] == "decode" else compare_recording
        compare(model, clip, samples, golden["options"], tallies)
    return report(tallies)


if __name__ == "__main__":
    sys.exit(main())
