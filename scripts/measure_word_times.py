"""Measure how far word times are from the truth, on speech whose word times are known (`spoken_words.py`).

    measure_word_times.py run MANIFEST --engine sasayaki --model base --set test --out ours.jsonl
    measure_word_times.py run MANIFEST --engine whisper --model base.pt --set test --out theirs.jsonl
    measure_word_times.py run MANIFEST --engine align --model base --set test --out aligned.jsonl
    measure_word_times.py run MANIFEST --engine align --wrong inserted --model base --set test --out inserted.jsonl
    measure_word_times.py table ours.jsonl theirs.jsonl
    measure_word_times.py marks aligned.jsonl inserted.jsonl
    measure_word_times.py cost MANIFEST --model base --beams 5

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. `run` transcribes the files
of a set with word times, 5 beams, one temperature, and otherwise the engine's defaults; the engine `align` is told the
text, which `Whisper.align` times. `table` compares starts and ends with the truth, over words that every engine found:
those of its text that a longest common subsequence pairs with words that were said. A pair that is wrong by more than
2 s for every engine is taken for two different words. `marks` says how many words `Whisper.align` marked as not found:
of those that were said, and of the wrong ones that `--wrong` puts into the text, one for each ten words that were said,
between two of them (`inserted`) or in place of one (`replaced`). `cost` transcribes one window of recorded sentences
with and without word times, in turns.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
from spoken_words import SAMPLE_RATE, SETS, Speech, make_speech

OPTIONS = {"word_timestamps": True, "language": "en", "beam_size": 5, "temperature": 0.0}
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WRONG = ("pineapple", "submarine", "kangaroo", "umbrella", "thermometer", "parliament", "volcano", "biscuit")
"""Words that no file of the material has."""


def transcribe_sasayaki(arguments: argparse.Namespace) -> Any:
    """A function from samples to words."""
    import sasayaki

    model = sasayaki.load_model(arguments.model, threads=arguments.threads, precision=arguments.precision)
    options = {**OPTIONS, "compat": arguments.compat}

    def transcribe(speech: Speech) -> list[tuple[str, float, float]]:
        result = model.transcribe(speech.samples, **options)
        return [(word.word, word.start, word.end) for segment in result.segments for word in segment.words]

    return transcribe


def align_sasayaki(arguments: argparse.Namespace) -> Any:
    """A function from samples to the words of the known text; those that were not found have no times."""
    import sasayaki

    model = sasayaki.load_model(arguments.model, threads=arguments.threads, precision=arguments.precision)

    def align(speech: Speech) -> list[tuple[str, float | None, float | None]]:
        texts = with_wrong([word.text for word in speech.words], arguments.wrong, speech.name)
        alignment = model.align(speech.samples, " ".join(texts), "en")
        return [(word.word, word.start, word.end) for word in alignment.words]

    return align


def with_wrong(texts: list[str], how: str | None, name: str) -> list[str]:
    """The words of a text with one that was not said in each ten."""
    if how is None:
        return texts
    draw = random.Random(name)
    for first in range(0, len(texts) - 9, 10)[::-1]:
        place = first + draw.randrange(1, 9)
        texts = [*texts[:place], draw.choice(WRONG), *texts[place + (how == "replaced") :]]
    return texts


def transcribe_whisper(arguments: argparse.Namespace) -> Any:
    """The same by openai/whisper."""
    import torch
    import whisper

    torch.set_num_threads(arguments.threads or 2)
    model = whisper.load_model(arguments.model, device="cpu")
    if arguments.heads:
        model.set_alignment_heads(whisper._ALIGNMENT_HEADS[arguments.heads])
    options = {**OPTIONS, "fp16": False}

    def transcribe(speech: Speech) -> list[tuple[str, float, float]]:
        result = model.transcribe(speech.samples, **options)
        words = [word for segment in result["segments"] for word in segment["words"]]
        return [(word["word"], float(word["start"]), float(word["end"])) for word in words]

    return transcribe


def run(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each file of the set that is not there yet."""
    done = set()
    if arguments.out.exists():
        done = {json.loads(line)["name"] for line in arguments.out.read_text("utf-8").splitlines()}
    transcribe, n_left = None, arguments.limit
    for speech in make_speech(arguments.manifest, arguments.set):
        if speech.name in done:
            continue
        if not n_left:
            return
        n_left -= 1
        makers = {"sasayaki": transcribe_sasayaki, "align": align_sasayaki, "whisper": transcribe_whisper}
        transcribe = transcribe or makers[arguments.engine](arguments)
        line = {"name": speech.name, "kind": speech.kind, "found": transcribe(speech)}
        line["said"] = [(word.text, word.start, word.end) for word in speech.words]
        with arguments.out.open("a", encoding="utf-8") as out:
            print(json.dumps(line, ensure_ascii=False), file=out)


def plain(word: str) -> str:
    """A word without case, punctuation and digits."""
    letters = re.sub(r"[^\w']", "", word.lower())
    return NUMBERS[int(letters)] if letters.isdecimal() and int(letters) < len(NUMBERS) else letters


def pairs(said: list[Any], found: list[Any]) -> dict[int, int]:
    """Which word of `said` is which word of `found`."""
    said, found = ([plain(word[0]) for word in words] for words in (said, found))
    blocks = SequenceMatcher(None, said, found, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


Errors = dict[tuple[str, str], dict[str, list[float]]]


def compare(files: list[Path]) -> tuple[list[str], dict[str, dict[str, list[list[float]]]], dict[str, int]]:
    """Absolute errors of each engine by kind of material: kind -> side -> one list for each engine."""
    engines = [{line["name"]: line for line in map(json.loads, path.read_text("utf-8").splitlines())} for path in files]
    for line in (line for engine in engines for line in engine.values()):
        line["found"] = [word for word in line["found"] if word[1] is not None]
    errors: dict[str, dict[str, list[list[float]]]] = defaultdict(
        lambda: {side: [[] for _ in files] for side in ("start", "end")}
    )
    counts: dict[str, int] = defaultdict(int)
    for name in engines[0]:
        if not all(name in engine for engine in engines):
            continue
        lines = [engine[name] for engine in engines]
        paired = [pairs(lines[0]["said"], line["found"]) for line in lines]
        counts[lines[0]["kind"]] += len(lines[0]["said"])
        for place, (_, *truth) in enumerate(lines[0]["said"]):
            if not all(place in pair for pair in paired):
                continue
            for position, side in enumerate(("start", "end")):
                if truth[position] is None:
                    continue
                got = [line["found"][pair[place]][1 + position] for line, pair in zip(lines, paired, strict=True)]
                wrong = [abs(time - truth[position]) for time in got]
                if min(wrong) <= 2:
                    for number, error in enumerate(wrong):
                        errors[lines[0]["kind"]][side][number].append(error)
    return [path.stem for path in files], errors, counts


def table(arguments: argparse.Namespace) -> None:
    """Print mean and 90th percentile of the errors in milliseconds, and the mean as a share of the last engine's."""
    names, errors, counts = compare(arguments.files)
    print("| material | words said | times compared | engine | start mean | start p90 | end mean | end p90 | mean |")
    print("|---|---|---|---|---|---|---|---|---|")
    everything = {
        side: [[error for kind in errors.values() for error in kind[side][number]] for number in range(len(names))]
        for side in ("start", "end")
    }
    for kind, sides in [*errors.items(), ("all", everything)]:
        for number, name in enumerate(names):
            start, end = (np.array(sides[side][number]) * 1000 for side in ("start", "end"))
            n_said = counts.get(kind) or sum(counts.values())
            figures = [f"{f(times):.0f}" for times in (start, end) for f in (np.mean, lambda t: np.percentile(t, 90))]
            both = np.concatenate([start, end]).mean()
            print(f"| {kind} | {n_said} | {len(start)} + {len(end)} | {name} | {' | '.join(figures)} | {both:.0f} |")


def marks(arguments: argparse.Namespace) -> None:
    """Print how many words of a known text were marked as not found."""
    print("| material | text | words said | of them marked | wrong words | of them marked |")
    print("|---|---|---|---|---|---|")
    for path in arguments.files:
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for line in map(json.loads, path.read_text("utf-8").splitlines()):
            for kind in (line["kind"], "all"):
                for word, start, _ in line["found"]:
                    side = 2 * (plain(word) in WRONG)
                    counts[kind][side] += 1
                    counts[kind][side + 1] += start is None
        for kind, (n_said, n_said_marked, n_wrong, n_wrong_marked) in sorted(
            counts.items(), key=lambda k: k[0] == "all"
        ):
            print(f"| {kind} | {path.stem} | {n_said} | {n_said_marked} | {n_wrong} | {n_wrong_marked} |")


def cost(arguments: argparse.Namespace) -> None:
    """Print the median time of one window without and with word times, and what they add in %."""
    import sasayaki

    model = sasayaki.load_model(arguments.model, threads=arguments.threads)
    speeches = make_speech(arguments.manifest, "test")
    speech = next(each for each in speeches if each.kind == "sentences" and len(each.samples) <= 30 * SAMPLE_RATE)
    options = {**OPTIONS, "beam_size": arguments.beams if arguments.beams > 1 else None}
    seconds: list[list[float]] = []
    for _ in range(arguments.repeats + 1):
        seconds.append([])
        for with_words in (False, True):
            began = time.perf_counter()
            model.transcribe(speech.samples, **{**options, "word_timestamps": with_words})
            seconds[-1].append(time.perf_counter() - began)
    plain_s, words_s = np.array(seconds[1:]).T
    added = 100 * (np.median(words_s) / np.median(plain_s) - 1)
    print(f"{np.median(plain_s):.3f} s, with word times {np.median(words_s):.3f} s, {added:+.1f} %")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.add_argument("manifest", type=Path)
    runner.add_argument("--engine", choices=["sasayaki", "align", "whisper"], default="sasayaki")
    runner.add_argument("--model", default="base")
    runner.add_argument("--heads", help="official name whose alignment heads openai/whisper takes for a model file")
    runner.add_argument("--precision", default="auto")
    runner.add_argument("--compat", action="store_true")
    runner.add_argument("--set", choices=SETS, default="test")
    runner.add_argument("--threads", type=int)
    runner.add_argument("--wrong", choices=["inserted", "replaced"], help="put words into the text that align is told")
    runner.add_argument("--limit", type=int, default=-1, help="stop after so many files; the next run goes on")
    runner.add_argument("--out", type=Path, required=True)
    runner.set_defaults(function=run)
    coster = commands.add_parser("cost")
    coster.add_argument("manifest", type=Path)
    coster.add_argument("--model", default="base")
    coster.add_argument("--beams", type=int, default=5)
    coster.add_argument("--threads", type=int, default=2)
    coster.add_argument("--repeats", type=int, default=6)
    coster.set_defaults(function=cost)
    for name, function in (("table", table), ("marks", marks)):
        tabler = commands.add_parser(name)
        tabler.add_argument("files", type=Path, nargs="+")
        tabler.set_defaults(function=function)
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
