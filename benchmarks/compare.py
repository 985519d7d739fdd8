"""Measure sasayaki beside its peers: the same samples, a process each, one request at a time, in turns.

    python -m benchmarks.compare MANIFEST --engines sasayaki,fw-int8 --joined 600 --out speed.jsonl
    python -m benchmarks.compare MANIFEST --engines sasayaki,fw-int8 --clips 0 --out speed.jsonl
    python -m benchmarks.report speed.jsonl --charts docs

MANIFEST is a tab-separated table with the columns file, language, seconds and text. Recordings are decoded before the
clock starts; an engine that is not installed is left out, with a note. docs/speed.md says what is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import sasayaki
from benchmarks.engines import ENGINES
from benchmarks.recordings import Recording, join, one_by_one, read_manifest, spread
from benchmarks.report import tables
from benchmarks.word_errors import count_errors
from benchmarks.worker import Worker

PAUSE_S = 0.25
"""Before each request, so that threads of the one before come to rest."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--engines", default=",".join(ENGINES), help="of: " + ", ".join(ENGINES))
    parser.add_argument("--joined", default="", help="seconds of joined speech, comma-separated")
    parser.add_argument("--clips", type=float, help="clips of at most 30 s, of so many seconds in all; 0: every clip")
    parser.add_argument("--models", default="base")
    parser.add_argument("--models-dir", type=Path, default=Path("models"), help="models of peers: ct2/, openai/, ov/…")
    parser.add_argument("--beams", default="1,5")
    parser.add_argument("--policy", choices=("matched", "default"), default="matched")
    parser.add_argument("--language", default="en")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="every measurement as a line of JSON (appended)")
    return parser.parse_args()


def main() -> None:
    """Measure, and print tables."""
    given = arguments()
    recordings = list(chosen_recordings(given))
    if not recordings:
        sys.exit("nothing to transcribe; give --joined SECONDS or --clips SECONDS")
    records: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for _, recording in recordings:
            recording.samples.tofile(samples_file(folder, recording))
        for model in given.models.split(","):
            workers = start_workers(given, model)
            for record in measure(given, model, workers, recordings, folder):
                records.append(record)
                if given.out:
                    with given.out.open("a", encoding="utf-8") as file:
                        write(record, file)
            for worker in workers.values():
                worker.close()
    print(tables(records))


def chosen_recordings(given: argparse.Namespace) -> Iterator[tuple[str, Recording]]:
    """The recordings and the name of the set of each."""
    clips = read_manifest(given.manifest, language=given.language)
    for seconds in filter(None, given.joined.split(",")):
        recording = join(clips, sasayaki.load_audio, seconds=float(seconds))
        yield recording.name, recording
    if given.clips is not None:
        picked = spread(clips, given.clips) if given.clips else clips
        for recording in one_by_one(picked, sasayaki.load_audio):
            yield "clips", recording


def samples_file(folder: str, recording: Recording) -> str:
    """Where the samples of a recording are."""
    return str(Path(folder, f"{recording.name}.f32"))


def start_workers(given: argparse.Namespace, model: str) -> dict[str, Worker]:
    """The engines that can be used."""
    workers = {}
    for name in given.engines.split(","):
        try:
            workers[name] = Worker(name, model, given.models_dir, given.threads)
        except RuntimeError as error:
            print(f"without {name}: {error}", file=sys.stderr)
    return workers


def measure(
    given: argparse.Namespace,
    model: str,
    workers: dict[str, Worker],
    recordings: list[tuple[str, Recording]],
    folder: str,
) -> Iterator[dict[str, Any]]:
    """One record of each request; the first of an engine is the same recording once before, untimed."""
    jobs = [(int(beam), name) for beam in given.beams.split(",") for name in workers]
    shortest = min((recording for _, recording in recordings), key=lambda each: each.seconds)
    for beam, name in jobs:
        if shortest.seconds < 120:
            request(given, workers[name], shortest, beam, folder)
    for repeat in range(given.repeats):
        for set_name, recording in recordings:
            for turn in range(len(jobs)):
                beam, name = jobs[(turn + repeat) % len(jobs)]
                time.sleep(PAUSE_S)
                answer = request(given, workers[name], recording, beam, folder)
                errors, words = count_errors(recording.text, answer["text"], recording.language)
                yield {
                    "engine": name,
                    "batch": ENGINES[name].batch,
                    "model": model,
                    "beam": beam,
                    "policy": given.policy,
                    "threads": given.threads,
                    "set": set_name,
                    "file": recording.name,
                    "audio_seconds": recording.seconds,
                    "errors": errors,
                    "words": words,
                    **workers[name].loaded,
                    **answer,
                }


def request(given: argparse.Namespace, worker: Worker, recording: Recording, beam: int, folder: str) -> dict[str, Any]:
    """The answer of an engine."""
    samples = samples_file(folder, recording)
    return worker.ask(samples=samples, beam=beam, language=recording.language, policy=given.policy)


def write(record: dict[str, Any], file: TextIO) -> None:
    """Append a line of JSON."""
    print(json.dumps(record, ensure_ascii=False), file=file, flush=True)


if __name__ == "__main__":
    main()
