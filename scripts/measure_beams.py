"""Measure ways to search: word error rate, and cost in steps and rows of the decoder.

    measure_beams.py MANIFEST --models tiny.en base --out beams.jsonl
    measure_beams.py MANIFEST --table beams.jsonl

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings; all English ones that fit
one window are decoded. A run that was stopped goes on behind what OUT has. Each recording is encoded once and decoded
in all ways in one batch, so only the search differs. Cost is
counted and not timed: a step is a call of the decoder, a row a hypothesis in it. Texts are compared as
openai/whisper's normaliser leaves them, so the table needs the packages openai-whisper and RapidFuzz.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from accuracy import labelled

from sasayaki.decoding.pool import run_tasks
from sasayaki.decoding.task import DecodingTask, Proposal
from sasayaki.inference.base import Row
from sasayaki.options import DecodingOptions

WAYS: dict[str, dict[str, Any]] = {
    "reference, 5 beams": {},
    "greedy": {"beam_size": None},
    "patience 2": {"patience": 2.0},
    "stop by estimate": {"beam_stop": "estimate"},
    "stop by bound": {"beam_stop": "bound"},
    "ends among the top": {"beam_ends": "top"},
    "look-ahead 2": {"beam_lookahead": 2},
    "look-ahead 4": {"beam_lookahead": 4},
    "look-ahead 8": {"beam_lookahead": 8},
    "ends among the top, look-ahead 4": {"beam_ends": "top", "beam_lookahead": 4},
    "estimate, ends among the top": {"beam_stop": "estimate", "beam_ends": "top"},
    "estimate, look-ahead 2": {"beam_stop": "estimate", "beam_lookahead": 2},
    "estimate, look-ahead 4": {"beam_stop": "estimate", "beam_lookahead": 4},
    "estimate, ends of all": {"beam_stop": "estimate", "beam_ends": "all"},
    "estimate, ends of all, look-ahead 4": {"beam_stop": "estimate", "beam_ends": "all", "beam_lookahead": 4},
    "length penalty 0": {"length_penalty": 0.0},
    "length penalty 0.6": {"length_penalty": 0.6},
    "length penalty 1": {"length_penalty": 1.0},
    "length reward 0.2": {"length_reward": 0.2},
    "length reward 0.5": {"length_reward": 0.5},
    "estimate, length reward 0.2": {"beam_stop": "estimate", "length_reward": 0.2},
    "5 groups, diversity 0.2": {"beam_groups": 5, "beam_diversity": 0.2},
    "5 groups, diversity 0.5": {"beam_groups": 5, "beam_diversity": 0.5},
    "loop guard": {"loop_guard": True},
    "loop guard, greedy": {"loop_guard": True, "beam_size": None},
}


class CountingTask(DecodingTask):
    """A decode that counts its steps and rows."""

    n_steps = 1
    n_rows = 1

    def advance(self, proposal: Proposal) -> list[Row]:
        """One step."""
        rows = super().advance(proposal)
        self.n_steps += bool(rows)
        self.n_rows += len(rows)
        return rows


def decode_all(arguments: argparse.Namespace) -> None:
    """Write one JSON line for each model, recording and way."""
    import sasayaki

    done = {(line["model"], line["file"]) for line in read_lines(arguments.out)}
    for name in arguments.models:
        model = sasayaki.load_model(name, threads=arguments.threads)
        sizes = {"n_text_ctx": model.dims.n_text_ctx, "n_vocab": model.dims.n_vocab}
        rows = [row for row in labelled(arguments.manifest, "en") if float(row["seconds"]) <= 30]
        ways = {name: way for name, way in WAYS.items() if arguments.with_bound or way.get("beam_stop") != "bound"}
        for row in rows[:: arguments.every]:
            if (name, row["file"]) in done:
                continue
            samples = sasayaki.pad_or_trim(sasayaki.load_audio(arguments.manifest.parent / row["file"]))
            (audio,) = model.inference.encode(sasayaki.log_mel_spectrogram(samples, model.dims.n_mels)[None])
            tokenizer = model.tokenizer.with_language("en", "transcribe")
            tasks = [
                CountingTask(audio, tokenizer, DecodingOptions(**{"language": "en", "beam_size": 5, **way}), **sizes)
                for way in ways.values()
            ]
            lines = []
            for way, task, result in zip(ways, tasks, run_tasks(model.inference, tasks), strict=True):
                line = {"model": name, "way": way, "file": row["file"], "text": result.text}
                lines.append(json.dumps({**line, "steps": task.n_steps, "rows": task.n_rows}, ensure_ascii=False))
            with arguments.out.open("a", encoding="utf-8") as out:
                print(*lines, sep="\n", file=out)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """What was written so far."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def table(arguments: argparse.Namespace) -> None:
    """Print word error rates and costs; cost is relative to the first way."""
    from rapidfuzz.distance import Levenshtein
    from whisper.normalizers import EnglishTextNormalizer

    normalise = EnglishTextNormalizer()
    references = {row["file"]: normalise(row["text"]).split() for row in labelled(arguments.manifest, "en")}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in read_lines(arguments.table):
        groups[line["model"], line["way"]].append(line)
    print("| model | search | recordings | words | edits | WER % | steps | rows |")
    print("|---|---|---|---|---|---|---|---|")
    base: dict[str, tuple[int, int]] = {}
    for (model, way), lines in groups.items():
        edits = sum(Levenshtein.distance(references[line["file"]], normalise(line["text"]).split()) for line in lines)
        n_words = sum(len(references[line["file"]]) for line in lines)
        cost = sum(line["steps"] for line in lines), sum(line["rows"] for line in lines)
        first = base.setdefault(model, cost)
        changes = " | ".join(f"{100 * own / other - 100:+.0f} %" for own, other in zip(cost, first, strict=True))
        print(f"| {model} | {way} | {len(lines)} | {n_words} | {edits} | {100 * edits / n_words:.2f} | {changes} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--models", nargs="+", default=["tiny.en", "base"])
    parser.add_argument("--every", type=int, default=1, help="take every n-th recording only")
    parser.add_argument("--with-bound", action="store_true", help="also stop by bound, which costs many steps")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path, default=Path("beams.jsonl"))
    parser.add_argument("--table", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.table:
        table(arguments)
    else:
        decode_all(arguments)


if __name__ == "__main__":
    main()
