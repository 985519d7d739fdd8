"""Measure what the option `phrases` does: to names that a model gets wrong, and to recordings that have none of them.

    measure_phrases.py MANIFEST --models tiny.en base --weights 1 2 3 4

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. Prints two tables in
Markdown. Everything is determined: one temperature.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import sasayaki

NAMES = {
    "en_hotwords.mp3": ("ComfyUI",),
    "en_libri_1688-142285-0005.flac": ("Helstone",),
    "en_libri_2609-156975-0002.flac": ("Lincoln",),
    "en_libri_2609-156975-0004.flac": ("Merneptah",),
    "en_libri_2609-156975-0007.flac": ("Ephraim", "Manasseh"),
    "en_libri_2609-156975-0008.flac": ("sojourn",),
    "en_libri_367-130732-0005.flac": ("Delmonico",),
    "en_libri_367-130732-0006.flac": ("à la Newberg",),
    "en_lj_LJ001-0007.mp3": ("Gutenberg",),
    "en_long_cats.wav": ("Menes",),
    "es_mls_13697.opus": ("Wentworth",),
}
"""Recordings, and the rare words in them."""

FOREIGN = (
    *("Kubernetes", "Dr. Müller", "PostgreSQL", "nginx", "Kowalczyk", "Nguyen", "Reykjavík", "Schrödinger"),
    *("Siobhan", "Xochitl", "Ouagadougou", "Worcestershire", "TensorFlow", "Zbigniew", "Eyjafjallajökull", "GraphQL"),
    *("Aoife O'Sullivan", "Llanelli", "metoprolol", "Quetzalcoatl"),
)
"""Phrases that none of the recordings has."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A model and a way to search."""

    name: str
    model: sasayaki.Whisper
    beam_size: int | None

    def transcribe(self, path: Path, language: str, phrases: dict[str, float] | None = None) -> str:
        """The text of a recording."""
        return self.model.transcribe(
            path, language=language, beam_size=self.beam_size, temperature=0.0, phrases=phrases
        ).text.strip()

    def __str__(self) -> str:
        return f"{self.name} | {self.beam_size or 'greedy'}"


def settings(names: Iterable[str], beam_sizes: Iterable[int], threads: int | None) -> Iterator[Setting]:
    """Every model with every search; beam size 0 is greedy."""
    for name in names:
        model = sasayaki.load_model(name, threads=threads)
        yield from (Setting(name, model, beam_size or None) for beam_size in beam_sizes)


def changes(before: str, after: str) -> str:
    """What became of which words."""
    a, b = before.split(), after.split()
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    found = [f"{' '.join(a[i:j])} → {' '.join(b[k:m])}" for kind, i, j, k, m in blocks if kind != "equal"]
    return "; ".join(found) or "nothing"


def print_names(setting: Setting, rows: list[dict[str, str]], folder: Path, weights: list[float]) -> None:
    """A line for each recording with rare words: the lightest weight that writes them all, and what it changes."""
    for row in rows:
        if row["file"] not in NAMES or (setting.name.endswith(".en") and row["language"] != "en"):
            continue
        words, path = NAMES[row["file"]], folder / row["file"]
        plain = setting.transcribe(path, row["language"])
        needed, text = 0.0, plain
        for weight in weights:
            if all(word in text for word in words):
                break
            needed, text = weight, setting.transcribe(path, row["language"], dict.fromkeys(words, weight))
        is_fixed = all(word in text for word in words)
        verdict = f"{needed:g}" if is_fixed else "not fixed"
        print(f"| {setting} | {row['file']} | {', '.join(words)} | {verdict} | {changes(plain, text)} |", flush=True)


def print_unrelated(setting: Setting, rows: list[dict[str, str]], folder: Path, weights: list[float]) -> None:
    """A line for each weight: how many recordings keep their text with phrases that they do not have."""
    plain = {row["file"]: setting.transcribe(folder / row["file"], row["language"]) for row in rows}
    for weight in weights:
        phrases = dict.fromkeys(FOREIGN, weight)
        differences = [
            f"{row['file']}: {changes(plain[row['file']], text)}"
            for row in rows
            if (text := setting.transcribe(folder / row["file"], row["language"], phrases)) != plain[row["file"]]
        ]
        kept = f"{len(rows) - len(differences)} of {len(rows)}"
        print(f"| {setting} | {weight:g} | {kept} | {'; '.join(differences)} |", flush=True)


def main() -> None:
    """Read the arguments and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--models", nargs="+", default=["tiny.en", "base"])
    parser.add_argument("--weights", nargs="+", type=float, default=[1, 2, 3, 4])
    parser.add_argument("--beam_sizes", nargs="+", type=int, default=[5, 0], help="0 is greedy")
    parser.add_argument("--unrelated", type=int, default=30, help="English recordings without the names")
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    with given.manifest.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    unrelated = [
        row
        for row in rows
        if row["language"] == "en" and row["text"] and row["file"] not in NAMES and float(row["seconds"]) < 30
    ]
    step = max(1, len(unrelated) // given.unrelated)
    chosen = list(settings(given.models, given.beam_sizes, given.threads))
    print("| model | beams | recording | phrases | weight needed | what it changed |\n|---|---|---|---|---|---|")
    for setting in chosen:
        print_names(setting, rows, given.manifest.parent, given.weights)
    print("\n| model | beams | weight | texts kept | differences |\n|---|---|---|---|---|")
    for setting in chosen:
        print_unrelated(setting, unrelated[::step][: given.unrelated], given.manifest.parent, given.weights)


if __name__ == "__main__":
    main()
