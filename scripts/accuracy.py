"""Measure word error rates of sasayaki, and of openai/whisper's answers where they are at hand.

    accuracy.py MANIFEST --models base tiny.en --precisions float32 auto --out answers.jsonl
    accuracy.py MANIFEST --score answers.jsonl openai.jsonl

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The first form transcribes
all labelled recordings of a language and writes one JSON line each; the second prints a table. Scoring uses
openai/whisper's text normaliser, so it needs the packages openai-whisper and RapidFuzz.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

SETTINGS: dict[str, dict[str, Any]] = {
    # Everything is determined: no sampling, no text carried from window to window.
    "plain": {"beam_size": 5, "temperature": 0.0, "condition_on_previous_text": False, "compat": True},
    # The defaults: temperature fallback, text carried on, and what sasayaki adds.
    "default": {},
    # The same without what sasayaki adds.
    "compat": {"compat": True},
}


def labelled(manifest: Path, language: str) -> list[dict[str, str]]:
    """Rows of the manifest in that language that have a text."""
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row for row in rows if row["language"] == language and row["text"].strip()]


def transcribe_all(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each recording, model, precision and setting."""
    import sasayaki

    rows = labelled(arguments.manifest, arguments.language)
    with arguments.out.open("a", encoding="utf-8") as out:
        for name in arguments.models:
            for precision in arguments.precisions:
                model = sasayaki.load_model(name, backend=arguments.backend, precision=precision)
                for setting in arguments.settings:
                    begin = time.perf_counter()
                    for row in rows:
                        result = model.transcribe(
                            arguments.manifest.parent / row["file"], language=arguments.language, **SETTINGS[setting]
                        )
                        line = {
                            "engine": f"sasayaki {arguments.backend} {precision}",
                            "model": name,
                            "setting": setting,
                            "file": row["file"],
                            "text": result.text,
                        }
                        print(json.dumps(line, ensure_ascii=False), file=out, flush=True)
                    print(f"{name} {precision} {setting}: {time.perf_counter() - begin:.0f} s")


def score(arguments: argparse.Namespace) -> None:
    """Print word error rates of all answers, over the recordings that every engine has answered."""
    from rapidfuzz.distance import Levenshtein
    from whisper.normalizers import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()
    references = {row["file"]: row for row in labelled(arguments.manifest, arguments.language)}
    answers: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for path in arguments.score:
        for line in path.read_text("utf-8").splitlines():
            answer = json.loads(line)
            answers[answer["model"], answer["setting"], answer["engine"]][answer["file"]] = answer["text"]
    print("| model | setting | engine | files | words | WER % | WER % up to 30 s |")
    print("|---|---|---|---|---|---|---|")
    for (model, setting, engine), texts in sorted(answers.items()):
        counts = {"all": [0, 0], "short": [0, 0]}
        for file, text in texts.items():
            if file not in references:
                continue
            expected, got = (normalise(t).split() for t in (references[file]["text"], text))
            edits = Levenshtein.distance(expected, got)
            for key in ("all", "short") if float(references[file]["seconds"]) <= 30 else ("all",):
                counts[key][0] += edits
                counts[key][1] += len(expected)
        rates = [100 * edits / max(words, 1) for edits, words in counts.values()]
        print(
            f"| {model} | {setting} | {engine} | {len(texts)} | {counts['all'][1]} | {rates[0]:.2f} | {rates[1]:.2f} |"
        )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--language", default="en")
    parser.add_argument("--models", nargs="+", default=["base", "tiny.en"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "auto"])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--backend", default="openvino")
    parser.add_argument("--out", type=Path, default=Path("answers.jsonl"))
    parser.add_argument("--score", type=Path, nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.score:
        score(arguments)
    else:
        transcribe_all(arguments)


if __name__ == "__main__":
    main()
