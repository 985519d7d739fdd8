"""Measure error rates of sasayaki, and of openai/whisper on the same recordings.

    accuracy.py MANIFEST --models base tiny.en --precisions float32 auto --out ours.jsonl
    accuracy.py MANIFEST --engine whisper --models base.pt --settings default --out theirs.jsonl
    accuracy.py MANIFEST --score ours.jsonl theirs.jsonl
    accuracy.py MANIFEST --languages others --detect --settings default --out ours.jsonl
    accuracy.py MANIFEST --languages others --score ours.jsonl tests/golden/*_base.json

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The labelled recordings of
the languages are transcribed, one JSON line each; what a file holds already is not done again. `others` are all
languages but English; with `--detect` no engine is told the language. `--score` prints a table of such lines, and of
golden files, in characters for languages that are written without spaces, else in words. It uses openai/whisper's text
normalisers, so it needs the packages openai-whisper and RapidFuzz, as `--engine whisper` does.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

SETTINGS: dict[str, dict[str, Any]] = {
    # Everything is determined: no sampling, no text carried from window to window.
    "plain": {"beam_size": 5, "temperature": 0.0, "condition_on_previous_text": False, "compat": True},
    # The defaults: temperature fallback, text carried on, and what sasayaki adds.
    "default": {"seed": 0},
    # The same without voice activity.
    "deaf": {"seed": 0, "vad": "off"},
    # The same with voice activity by loudness alone.
    "energy": {"seed": 0, "vad": "energy"},
    # The same without what sasayaki adds.
    "compat": {"seed": 0, "compat": True},
}
WHISPER_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {"beam_size": 5, "temperature": 0.0, "condition_on_previous_text": False},
    # The defaults of its command line.
    "default": {"beam_size": 5, "best_of": 5, "temperature": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)},
}
UNSPACED = ("ja", "ko", "zh")

Transcribe = Callable[[Any, str | None], str]


def labelled(manifest: Path, languages: list[str]) -> list[dict[str, str]]:
    """Rows of the manifest in one of those languages that have a text."""
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row["text"].strip()]
    if languages == ["others"]:
        return [row for row in rows if row["language"] != "en" and "+" not in row["language"]]
    return [row for row in rows if row["language"] in languages]


def engines(arguments: argparse.Namespace) -> Iterator[tuple[str, str, str, Transcribe]]:
    """Engine, model and setting, and the function from samples and their language to a text."""
    for name in arguments.models:
        if arguments.engine == "whisper":
            import torch
            import whisper

            torch.manual_seed(0)
            torch.set_num_threads(arguments.threads)
            reference = whisper.load_model(name, device="cpu")
            for setting in arguments.settings:
                options = {**WHISPER_SETTINGS[setting], "fp16": False}
                yield (
                    "openai/whisper float32",
                    Path(name).name.removesuffix(".pt"),
                    setting,
                    lambda samples, language, reference=reference, options=options: reference.transcribe(
                        samples, language=language, **options
                    )["text"],
                )
            continue
        import sasayaki

        for precision in arguments.precisions:
            model = sasayaki.load_model(name, backend=arguments.backend, precision=precision, threads=arguments.threads)
            for setting in arguments.settings:
                yield (
                    f"sasayaki {arguments.backend} {precision}",
                    name,
                    setting,
                    lambda samples, language, model=model, options=SETTINGS[setting]: (
                        model.transcribe(samples, language=language, **options).text
                    ),
                )


def transcribe_all(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each recording, model, precision and setting, until `--minutes` have passed."""
    from sasayaki import load_audio

    keys = ("engine", "model", "setting", "file")
    done = set()
    if arguments.out.exists():
        lines = map(json.loads, arguments.out.read_text("utf-8").splitlines())
        done = {tuple(line[key] for key in keys) for line in lines}
    began = time.monotonic()
    with arguments.out.open("a", encoding="utf-8") as out:
        for engine, model, setting, transcribe in engines(arguments):
            told = f"{setting}, language detected" if arguments.detect else setting
            for row in labelled(arguments.manifest, arguments.languages):
                names = (engine, model, told, row["file"])
                if names in done:
                    continue
                if time.monotonic() - began > arguments.minutes * 60:
                    return
                language = None if arguments.detect else row["language"]
                text = transcribe(load_audio(arguments.manifest.parent / row["file"]), language)
                line = {**dict(zip(keys, names, strict=True)), "text": text}
                print(json.dumps(line, ensure_ascii=False), file=out, flush=True)


def read_answers(path: Path) -> Iterator[dict[str, str]]:
    """Lines of `--out`, or openai/whisper's answers with 5 beams at temperature 0 of a golden file."""
    if path.suffix == ".jsonl":
        yield from map(json.loads, path.read_text("utf-8").splitlines())
        return
    golden = json.loads(path.read_text("utf-8"))
    line = {"engine": "openai/whisper float32", "model": golden["model"], "setting": "golden"}
    for clip in golden["clips"]:
        if clip["job"] == "long-beam5":
            yield {**line, "file": clip["name"], "text": clip["text"]}
        elif clip["job"] == "decode" and clip["seconds"] <= 30:
            yield {**line, "file": clip["name"], "text": clip["results"]["beam5"]["text"]}


@cache
def normalisers() -> tuple[Callable[[str], str], Callable[[str], str]]:
    """For English, and for all other languages."""
    from whisper.normalizers import BasicTextNormalizer, EnglishTextNormalizer

    return EnglishTextNormalizer(), BasicTextNormalizer()


def units(text: str, language: str) -> list[str]:
    """What errors are counted in: words, or characters where there are no spaces."""
    english, basic = normalisers()
    if language == "en":
        return english(text).split()
    plain = basic(unicodedata.normalize("NFKC", text))
    return list(re.sub(r"\s", "", plain)) if language in UNSPACED else plain.split()


def score(arguments: argparse.Namespace) -> None:
    """Print error rates of all answers, over the recordings that every engine has answered."""
    from rapidfuzz.distance import Levenshtein

    references = {row["file"]: row for row in labelled(arguments.manifest, arguments.languages)}
    answers: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for path in arguments.score:
        for line in read_answers(path):
            if line["file"] in references:
                answers[line["model"], line["setting"], line["engine"]][line["file"]] = line["text"]
    common = set.intersection(*(set(texts) for texts in answers.values()))
    print("| language | model | setting | engine | files | units | errors | % | % up to 30 s |")
    print("|---|---|---|---|---|---|---|---|---|")
    languages = sorted({references[file]["language"] for file in common})
    for chosen in [*([language] for language in languages), *([languages] if len(languages) > 1 else [])]:
        for names, texts in sorted(answers.items()):
            counts = {"all": [0, 0], "short": [0, 0]}
            files = [file for file in common if references[file]["language"] in chosen]
            for file in files:
                row = references[file]
                expected, got = (units(text, row["language"]) for text in (row["text"], texts[file]))
                edits = Levenshtein.distance(expected, got)
                if arguments.verbose and edits:
                    print(f"{file} [{', '.join(names)}] {edits}: {texts[file].strip()} <- {row['text']}")
                for key in ("all", "short") if float(row["seconds"]) <= 30 else ("all",):
                    counts[key][0] += edits
                    counts[key][1] += len(expected)
            rates = [f"{100 * edits / max(n_unit, 1):.2f}" for edits, n_unit in counts.values()]
            cells = [chosen[0] if len(chosen) == 1 else "all", *names, len(files), counts["all"][1], counts["all"][0]]
            print("|", " | ".join(map(str, [*cells, *rates])), "|")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--engine", choices=["sasayaki", "whisper"], default="sasayaki")
    parser.add_argument("--languages", nargs="+", default=["en"])
    parser.add_argument("--detect", action="store_true", help="do not tell the engine the language")
    parser.add_argument("--models", nargs="+", default=["base", "tiny.en"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "auto"])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["plain", "default", "compat"])
    parser.add_argument("--backend", default="openvino")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so long; the next run goes on")
    parser.add_argument("--out", type=Path, default=Path("answers.jsonl"))
    parser.add_argument("--score", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="print each wrong answer, too")
    arguments = parser.parse_args()
    if arguments.score:
        score(arguments)
    else:
        transcribe_all(arguments)


if __name__ == "__main__":
    main()
