"""Count loops in noise, in speech buried in noise, and in real repetitions, with the loop guard on and off.

    measure_loops.py MANIFEST --models tiny.en --out loops.jsonl
    measure_loops.py MANIFEST --table loops.jsonl

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The first form transcribes
and writes one JSON line for each recording and setting, and may be stopped at any time: it goes on behind what the
file has. The second prints a table. A loop is counted by words and not by tokens, so that it does not ask the
detector about itself: one to eight words said at least `--repeats` times on end, which nobody says so often, or a text
that compresses better than 2.4. The word error rate is that of texts as openai/whisper's normaliser leaves them, so
the table needs the packages openai-whisper and RapidFuzz.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]

SAMPLE_RATE = 16_000
N_CLIPS, N_VOICES = 8, 8
NOISES = ("white", "pink", "radio", "modulated")
N_SEED = 2
SNRS_DB = (0, -5, -10)
ALONE = {"temperature": 0.0, "condition_on_previous_text": False, "vad": "off", "coverage_guard": False}
"""Options that leave nothing but the loop guard to act against loops."""
SETTINGS: dict[str, dict[str, Any]] = {
    "greedy": {**ALONE, "beam_size": None},
    "beams": {**ALONE, "beam_size": 5},
    "default": {},
}


def noise(kind: str, seconds: float, seed: int = 0) -> Samples:
    """Noise of one of `NOISES`, with root mean square 0.1."""
    draw = np.random.default_rng(seed)
    n = round(seconds * SAMPLE_RATE)
    spectrum = np.fft.rfft(draw.normal(size=n))
    hertz = np.fft.rfftfreq(n, 1 / SAMPLE_RATE)
    if kind == "pink":
        spectrum /= np.sqrt(np.maximum(hertz, 20.0))
    elif kind in ("radio", "modulated"):
        spectrum *= (hertz > 300) & (hertz < 3000)
    samples = np.fft.irfft(spectrum, n)
    if kind == "modulated":  # at the rate of syllables, and of sentences
        time = np.arange(n) / SAMPLE_RATE
        samples *= (1 + np.sin(2 * np.pi * 4 * time)) * (1 + 0.8 * np.sin(2 * np.pi * 0.3 * time))
    return np.asarray(0.1 * samples / np.sqrt(np.mean(samples**2)), np.float32)


def bury(speech: Samples, background: Samples, snr_db: float) -> Samples:
    """Speech in noise, at this ratio of their powers."""
    level = np.sqrt(np.mean(speech**2) / np.mean(background**2)) * 10 ** (-snr_db / 20)
    mixed = speech + level * background
    return np.asarray(0.5 * mixed / np.abs(mixed).max(), np.float32)


def babble(folder: Path, rows: list[dict[str, str]], seconds: float, seed: int) -> Samples:
    """Voices in other languages than English, all at once, with root mean square 0.1."""
    from sasayaki import load_audio

    draw = np.random.default_rng(seed + 100)
    spoken = [row for row in rows if row["language"] not in ("en", "") and row["text"].strip()]
    pool = [row for row in spoken if 4 <= float(row["seconds"]) <= 40]
    n = round(seconds * SAMPLE_RATE)
    total = np.zeros(n, np.float32)
    for place in draw.choice(len(pool), N_VOICES, replace=False):
        voice = load_audio(folder / pool[place]["file"])
        voice = np.roll(np.tile(voice, -(-n // len(voice)))[:n], int(draw.integers(n)))
        total += voice / np.sqrt(np.mean(voice**2))
    return np.asarray(0.1 * total / np.sqrt(np.mean(total**2)), np.float32)


@dataclass(frozen=True)
class Material:
    """Something to transcribe, and what is said in it."""

    kind: str
    label: str
    samples: Samples
    text: str = ""


def materials(manifest: Path) -> Iterator[Material]:
    """Everything that is transcribed."""
    from sasayaki import load_audio

    with manifest.open(encoding="utf-8", newline="") as file:
        everything = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    rows = [row for row in everything if row["language"] == "en"]
    folder = manifest.parent
    for seed in range(N_SEED):
        for kind in NOISES:
            yield Material("noise", f"{kind} {seed}", noise(kind, 120, seed))
    chosen = [row for row in rows if 7 <= float(row["seconds"]) <= 17 and row["text"].strip()]
    for number, group in enumerate(_windows(chosen, seconds=29)):
        speech = np.concatenate([load_audio(folder / row["file"]) for row in group])
        text = " ".join(row["text"] for row in group)
        for snr_db in SNRS_DB:
            for kind in ("white", "radio"):
                background = noise(kind, len(speech) / SAMPLE_RATE, number)
                yield Material(f"speech at {snr_db} dB", f"{number} {kind}", bury(speech, background, snr_db), text)
    for number, row in enumerate(chosen[1 :: len(chosen) // N_CLIPS][:N_CLIPS]):
        speech = load_audio(folder / row["file"])
        seconds = len(speech) / SAMPLE_RATE
        sounds = {kind: noise(kind, seconds, number) for kind in ("radio", "white")}
        sounds["babble"] = babble(folder, everything, seconds, number)
        for snr_db, (kind, background) in product(SNRS_DB, sounds.items()):
            yield Material(f"clip at {snr_db} dB", f"{number} {kind}", bury(speech, background, snr_db), row["text"])
    yield from repetitions(folder, rows)


def repetitions(folder: Path, rows: list[dict[str, str]]) -> Iterator[Material]:
    """Words that are really said again and again."""
    from sasayaki import load_audio

    gap = np.zeros(SAMPLE_RATE // 8, np.float32)
    for row in rows:
        if row["file"].startswith("en_digit_"):
            clip = load_audio(folder / row["file"])
            for times in (3, 6, 10):
                yield Material(f"digit x{times}", row["text"], np.concatenate([clip, gap] * times))
    for path in sorted(folder.glob("he_yesno*"))[:12]:
        yield Material("yes and no in Hebrew", path.stem, load_audio(path))


def _windows(rows: list[dict[str, str]], seconds: float) -> Iterator[list[dict[str, str]]]:
    group: list[dict[str, str]] = []
    for row in rows:
        if group and sum(float(each["seconds"]) for each in [*group, row]) > seconds:
            yield group
            group = []
        group.append(row)
    yield group


def longest_repeat(text: str) -> tuple[int, str]:
    """How often the most repeated run of one to eight words is said on end, and the run."""
    words = re.findall(r"[\w']+", text.lower())
    best = (0, "")
    for period in range(1, 9):
        matched = 0
        for place in range(period, len(words)):
            matched = matched + 1 if words[place] == words[place - period] else 0
            if matched // period + 1 > max(best[0], 1):
                best = (matched // period + 1, " ".join(words[place - period + 1 : place + 1]))
    return best


def transcribe_all(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each model, setting, guard and recording."""
    import sasayaki

    done = {key_of(line) for line in read_lines(arguments.out)}
    chosen = [
        material
        for number, material in enumerate(materials(arguments.manifest))
        if material.kind == "noise" or number % arguments.every == 0
        if material.kind.startswith(tuple(arguments.kinds))
    ]
    for name in arguments.models:
        model = sasayaki.load_model(name, threads=arguments.threads)
        for setting, material, guard in product(arguments.settings, chosen, arguments.guards):
            line: dict[str, Any] = {"model": name, "setting": setting, "guard": guard}
            line |= {"kind": material.kind, "label": material.label, "text": material.text}
            if key_of(line) in done:
                continue
            options = {**SETTINGS[setting], "loop_guard": guard == "on"}
            result = model.transcribe(material.samples, language="en", **options)
            line["segments"] = [
                [each.start, each.end, each.text, each.compression_ratio, len(each.attempts)]
                for each in result.segments
            ]
            with arguments.out.open("a", encoding="utf-8") as out:
                print(json.dumps(line, ensure_ascii=False), file=out)


def key_of(line: dict[str, Any]) -> tuple[str, ...]:
    """What was transcribed, and how."""
    return tuple(line[name] for name in ("model", "setting", "guard", "kind", "label"))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What was written so far."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def is_loop(line: dict[str, Any], least: int) -> bool:
    """Whether a loop is left in an answer; for a digit that was said n times, more than twice as many."""
    text = " ".join(segment[2] for segment in line["segments"])
    turns = longest_repeat(text)[0]
    if line["kind"].startswith("digit"):
        return turns > 2 * int(line["kind"].removeprefix("digit x"))
    is_said = turns <= longest_repeat(line["text"])[0]
    return (turns >= least and not is_said) or any(segment[3] > 2.4 for segment in line["segments"])


def table(path: Path, least: int) -> None:
    """Print how many recordings of each kind loop."""
    from rapidfuzz.distance import Levenshtein
    from whisper.normalizers import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()

    def edits(line: dict[str, Any]) -> int:
        got = "".join(segment[2] for segment in line["segments"])
        return int(Levenshtein.distance(normalise(line["text"]).split(), normalise(got).split()))

    groups: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for line in read_lines(path):
        groups[line["model"], line["kind"], line["setting"], line["guard"]].append(line)
    print("| model | material | setting | guard | recordings | with a loop | words | WER % | decodes of a window |")
    print("|---|---|---|---|---|---|---|---|---|")
    for key, group in groups.items():
        n_words = sum(len(segment[2].split()) for line in group for segment in line["segments"])
        attempts = [segment[4] for line in group for segment in line["segments"]]
        n_expected = sum(len(normalise(line["text"]).split()) for line in group)
        rate = f"{100 * sum(map(edits, group)) / n_expected:.0f}" if n_expected else ""
        print("| " + " | ".join(key), end=" | ")
        n_loops = sum(is_loop(line, least) for line in group)
        print(f"{len(group)} | {n_loops} | {n_words} | {rate} | {np.mean(attempts or [0]):.2f} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--models", nargs="+", default=["tiny.en", "base"])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["beams", "default"])
    parser.add_argument("--guards", nargs="+", choices=["off", "on"], default=["off", "on"])
    parser.add_argument("--kinds", nargs="+", default=[""], help="take only what begins so: noise, clip, speech, digit")
    parser.add_argument("--repeats", type=int, default=8, help="so many turns are a loop")
    parser.add_argument("--every", type=int, default=1, help="take every n-th recording only, noise aside")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, default=Path("loops.jsonl"))
    parser.add_argument("--table", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments.table, arguments.repeats)
    else:
        transcribe_all(arguments)


if __name__ == "__main__":
    main()
