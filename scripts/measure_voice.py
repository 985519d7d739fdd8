"""Measure invented text, lost speech and what the coverage guard costs.

    measure_voice.py MANIFEST --models base tiny.en --out answers.jsonl
    measure_voice.py MANIFEST --repeated 10 --gaps 0.1 0.3 0.6 --models base --out repeated.jsonl
    measure_voice.py --joined LONG.wav LONG.tsv --models base --beams 5 1 --settings default unguarded
    measure_voice.py --table answers.jsonl [--joined LONG.wav LONG.tsv]

MANIFEST is a tsv with the columns file and text beside its recordings; those without a text have no speech, and every
word there is invented. With --repeated, its English recordings of one word are joined so many times with silence
between, and every word is to be heard so often. LONG.tsv has a line for each utterance of the joined recording: start,
end, name and text. An utterance of four words or more is lost when fewer than a third of them are in the answer.
Scoring uses openai/whisper's text normaliser, so the table needs the packages openai-whisper and RapidFuzz.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "unguarded": {"coverage_guard": False},
    "deaf": {"vad": "off"},
    "energy": {"vad": "energy"},
    "compat": {"compat": True},
    "plain": {"temperature": 0.0, "condition_on_previous_text": False},
}


def speechless(manifest: Path) -> list[Path]:
    """Recordings of a manifest that have no text."""
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [manifest.parent / row["file"] for row in rows if not row["text"].strip()]


def repeated(arguments: argparse.Namespace) -> dict[str, Any]:
    """Samples of each English recording of one word, joined with itself, by name and gap."""
    import numpy as np

    from sasayaki import load_audio

    with arguments.manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    words = [row["file"] for row in rows if row["language"] == "en" and len(row["text"].split()) == 1]
    joined = {}
    for name in words:
        clip = load_audio(arguments.manifest.parent / name)
        for gap in arguments.gaps:
            turn = np.concatenate([clip, np.zeros(round(16_000 * gap), np.float32)])
            joined[f"{name} {gap}"] = np.tile(turn, arguments.repeated)
    return joined


def transcribe_all(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each recording, model, number of beams and setting."""
    import sasayaki

    if arguments.repeated:
        recordings = repeated(arguments)
    else:
        paths = [arguments.joined[0]] if arguments.joined else speechless(arguments.manifest)
        recordings = {path.name: path for path in paths}
    with arguments.out.open("a", encoding="utf-8") as out:
        for name in arguments.models:
            model = sasayaki.load_model(name)
            for setting in arguments.settings:
                for beams in arguments.beams:
                    for label, recording in recordings.items():
                        given = {"beam_size": beams if beams > 1 else None, **SETTINGS[setting]}
                        begin = time.process_time()
                        try:
                            result = model.transcribe(recording, **given)
                        except sasayaki.AudioError:
                            continue
                        line = {
                            "file": label,
                            "model": name,
                            "beams": beams,
                            "setting": setting,
                            "text": result.text,
                            "rejected": [[segment.rejected, segment.text] for segment in result.rejected],
                            "recovered": [segment.text for segment in result.segments if segment.recovered],
                            "guard_decodes": result.n_guard_decodes,
                            "processor_seconds": time.process_time() - begin,
                        }
                        print(json.dumps(line, ensure_ascii=False), file=out, flush=True)


def print_table(arguments: argparse.Namespace) -> None:
    """Words where nobody speaks; word error rate and lost utterances where the joined recording is given."""
    from whisper.normalizers import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()
    lines = [json.loads(line) for line in arguments.table.read_text("utf-8").splitlines()]
    print("| recording | model | beams | setting | words | WER % | lost | rejected | guard: decodes, kept | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for line in lines:
        words, rate, lost = normalise(line["text"]).split(), "", ""
        if arguments.joined and line["file"] == arguments.joined[0].name:
            rate, lost = _score(arguments.joined[1], words, normalise)
        guard = f"{line['guard_decodes']}, {len(line['recovered'])}"
        cells = [line["file"], line["model"], line["beams"], line["setting"], len(words), rate, lost]
        cells += [len(line["rejected"]), guard, f"{line['processor_seconds']:.1f}"]
        print("|", " | ".join(map(str, cells)), "|")


def _score(utterances: Path, words: list[str], normalise: Any) -> tuple[str, str]:
    """Word error rate in %, and the names of lost utterances."""
    from rapidfuzz.distance import Levenshtein

    rows = [line.split("\t") for line in utterances.read_text("utf-8").splitlines()]
    reference, owners = [], []
    for number, (_, _, _, text) in enumerate(rows):
        said = normalise(text).split()
        reference += said
        owners += [number] * len(said)
    hits = [0] * len(rows)
    for block in Levenshtein.opcodes(reference, words):
        for place in range(block.src_start, block.src_end if block.tag == "equal" else block.src_start):
            hits[owners[place]] += 1
    sizes = [owners.count(number) for number in range(len(rows))]
    lost = [row[2] for row, size, hit in zip(rows, sizes, hits, strict=True) if size >= 4 and hit < size / 3]
    return f"{100 * Levenshtein.distance(reference, words) / len(reference):.2f}", ", ".join(lost) or "none"


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path, nargs="?")
    parser.add_argument("--joined", type=Path, nargs=2, metavar=("WAV", "TSV"))
    parser.add_argument("--models", nargs="+", default=["base"])
    parser.add_argument("--beams", type=int, nargs="+", default=[5])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=["default"])
    parser.add_argument("--repeated", type=int, metavar="TIMES")
    parser.add_argument("--gaps", type=float, nargs="+", default=[0.1, 0.3, 0.6], metavar="SECONDS")
    parser.add_argument("--out", type=Path, default=Path("answers.jsonl"))
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table:
        print_table(arguments)
    elif arguments.manifest or arguments.joined:
        transcribe_all(arguments)
    else:
        parser.error("expected a MANIFEST, or --joined WAV TSV")


if __name__ == "__main__":
    main()
