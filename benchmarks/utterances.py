"""Where the words of a joined recording are wrong: for each engine, and for each utterance of the recording.

    python -m benchmarks.utterances LONG.tsv joined.jsonl
    python -m benchmarks.utterances LONG.tsv joined.jsonl --differences 2

LONG.tsv has a line for each utterance of the recording: start, end, name and text; joined.jsonl is what `compare.py`
wrote. An utterance of four words or more is lost when fewer than a third of its words are in the text. `--differences`
lists the utterances in which the first and any other engine are so many errors apart. It needs the package
openai-whisper.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.records import read_records
from benchmarks.word_errors import align, normaliser

LOST_WORDS = 4
LOST_SHARE = 1 / 3


@dataclass
class Utterance:
    """What became of the words of an utterance.

    Attributes:
        name: of its recording.
        n_words: how many were said.
        hits: those that are in the text.
        replaced: those that are another word there.
        missing: those that are not there.
        added: words of the text that nobody said.
        heard: the words of the text in its place.
    """

    name: str
    n_words: int
    hits: int = 0
    replaced: int = 0
    missing: int = 0
    added: int = 0
    heard: list[str] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """Words that are wrong in any way."""
        return self.replaced + self.missing + self.added

    @property
    def is_lost(self) -> bool:
        """Whether it has words enough to tell, and most of them are not in the text."""
        return self.n_words >= LOST_WORDS and self.hits < LOST_SHARE * self.n_words


def read_utterances(path: Path) -> list[tuple[str, list[str]]]:
    """Name and normalised words of each utterance."""
    normalise = normaliser("en")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(name, normalise(text).split()) for _, _, name, text in rows]


def count(utterances: Sequence[tuple[str, list[str]]], got: Sequence[str]) -> list[Utterance]:
    """The errors of each utterance in an alignment with the fewest; an added word belongs to the next one.

    Args:
        utterances: name and words of each.
        got: the words of the text.
    """
    expected = [word for _, words in utterances for word in words]
    counts = [Utterance(name, len(words)) for name, words in utterances]
    owners = [each for each in counts for _ in range(each.n_words)]
    next_owner = 0
    for place, heard in align(expected, got):
        owner = owners[min(next_owner, len(owners) - 1) if place is None else place]
        next_owner = next_owner if place is None else place + 1
        if heard is None:
            owner.missing += 1
        elif place is None:
            owner.added += 1
        elif expected[place] == got[heard]:
            owner.hits += 1
        else:
            owner.replaced += 1
        if heard is not None:
            owner.heard.append(got[heard])
    return counts


def summary(names: Sequence[str], counts: Sequence[Utterance]) -> str:
    """A row of the table of engines."""
    n_words = sum(each.n_words for each in counts)
    sums = [sum(getattr(each, kind) for each in counts) for kind in ("errors", "replaced", "missing", "added")]
    lost = ", ".join(f"{each.name} ({each.n_words} words)" for each in counts if each.is_lost)
    return f"| {' | '.join([*names, f'{100 * sums[0] / n_words:.2f}', *map(str, sums), lost or 'none'])} |"


def differences(counts: Sequence[Sequence[Utterance]], least: int) -> Iterable[str]:
    """Rows for the utterances in which the first engine and any other differ by at least so many errors."""
    for number, ours in enumerate(counts[0]):
        errors = [each[number].errors for each in counts]
        if max(abs(each - errors[0]) for each in errors) >= least:
            yield f"| {' | '.join([ours.name, *map(str, [ours.n_words, *errors])])} |"


def named(record: dict[str, Any]) -> list[str]:
    """What tells a record from others of the same recording."""
    return [record["model"], str(record["beam"]), record["policy"], record["engine"]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("utterances", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--differences", type=int, metavar="ERRORS")
    given = parser.parse_args()
    utterances = read_utterances(given.utterances)
    records = [each for each in read_records(given.results) if each["set"] == given.utterances.stem]
    records.sort(key=lambda record: named(record)[:3])
    counts = [count(utterances, normaliser("en")(record["text"]).split()) for record in records]
    print("| model | beams | policy | engine | WER % | errors | replaced | missing | added | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for record, each in zip(records, counts, strict=True):
        print(summary(named(record), each))
    if given.differences:
        print("\n| utterance | words |", " | ".join(" ".join(named(record)) for record in records), "|")
        print("|---|---|" + "---|" * len(records))
        print("\n".join(differences(counts, given.differences)))


if __name__ == "__main__":
    main()
