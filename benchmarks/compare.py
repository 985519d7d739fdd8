"""Measure sasayaki beside its peers: the same audio, a process for each measurement, in turns.

    python -m benchmarks.compare MANIFEST --joined 600 --out speed.jsonl
    python -m benchmarks.compare MANIFEST --clips --engines sasayaki,fw-int8 --out speed.jsonl
    python -m benchmarks.compare MANIFEST --lengths 60,600,3600,10800 --engines sasayaki --out length.jsonl
    python -m benchmarks.report speed.jsonl length.jsonl --charts docs

MANIFEST is a tab-separated table with the columns file, language, seconds and text. Measurements that stand in the file
of --out already are not taken again, so that a broken run goes on. docs/speed.md says what is measured, and how peers
are installed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sasayaki
from benchmarks.engines import ENGINES
from benchmarks.processes import ROOT, Process
from benchmarks.recordings import Recording, join, one_by_one, read_manifest, spread, with_text, write_wave
from benchmarks.records import Measurement, append, done, read_records
from benchmarks.report import tables

PAUSE_S = 0.5
"""Between processes, so that what the one before has left behind comes to rest."""

POLICIES = ("matched", "defaults")


@dataclass(frozen=True)
class RecordingSet:
    """Recordings whose times are added up.

    Attributes:
        name: in the tables.
        recordings: one or several.
        is_read_by_engine: whether opening the file belongs to the measurement, for those engines that read files.
    """

    name: str
    recordings: Sequence[Recording]
    is_read_by_engine: bool = False


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--joined", type=_numbers, default=(), metavar="SECONDS,…", help="joined recordings so long")
    parser.add_argument("--orders", type=int, default=1, help="join in so many orders; errors are added up")
    parser.add_argument("--audio", type=Path, nargs="*", default=(), help="recordings with their text in a .txt file")
    parser.add_argument("--clips", action="store_true", help="clips of at most 30 s one by one")
    parser.add_argument("--clip-seconds", type=float, help="only so many seconds of clips in all")
    parser.add_argument("--lengths", type=_numbers, default=(), metavar="SECONDS,…", help="joined, read by the engine")
    parser.add_argument("--engines", type=_names(ENGINES), default=tuple(ENGINES), help="of: " + ", ".join(ENGINES))
    parser.add_argument("--models", type=lambda text: tuple(text.split(",")), default=("base",))
    parser.add_argument("--models-dir", type=Path, default=Path("models"), help="models of peers: ct2/, openai/, ov/…")
    parser.add_argument("--python", action="append", default=[], metavar="[ENGINE=]PATH", help="of peers, or of one")
    parser.add_argument("--beams", type=_numbers, default=(1, 5))
    parser.add_argument("--policies", type=_names(POLICIES), default=POLICIES)
    parser.add_argument("--language", default="en")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True, help="every measurement as lines of JSON (appended)")
    return parser.parse_args(given)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _names(known: Sequence[str] | Mapping[str, Any]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        if unknown := set(names) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} is not among {', '.join(known)}")
        return names

    return parse


def main() -> None:
    """Measure, and print tables."""
    given = arguments()
    sets = list(chosen_sets(given))
    if not sets:
        sys.exit("nothing to transcribe; give --joined SECONDS, --audio FILE, --clips or --lengths SECONDS")
    with tempfile.TemporaryDirectory() as folder:
        for recording in (recording for each in sets for recording in each.recordings):
            write_wave(wave_path(folder, recording), recording.samples)
        run(given, {each.name: each for each in sets}, folder)
    print(tables(read_records([given.out])))


def chosen_sets(given: argparse.Namespace) -> Iterator[RecordingSet]:
    """What the command line asks for."""
    clips = read_manifest(given.manifest, language=given.language)
    for seconds in given.joined:
        orders = [join(clips, sasayaki.load_audio, seconds=seconds, order=order) for order in range(given.orders)]
        yield RecordingSet("orders-of-" * (given.orders > 1) + f"joined-{seconds}s", orders)
    for path in given.audio:
        yield RecordingSet(path.stem, [with_text(path, given.language, sasayaki.load_audio)])
    if given.clips:
        picked = spread(clips, given.clip_seconds) if given.clip_seconds else clips
        yield RecordingSet("clips", one_by_one(picked, sasayaki.load_audio))
    for seconds in given.lengths:
        name = f"length-{seconds}s"
        yield RecordingSet(name, [join(clips, sasayaki.load_audio, seconds=seconds)], is_read_by_engine=True)


def wave_path(folder: str, recording: Recording) -> Path:
    """Where the samples of a recording are."""
    return Path(folder, f"{recording.name}.wav")


def plan(given: argparse.Namespace, sets: Sequence[str]) -> Iterator[Measurement]:
    """All measurements in turns; the order of the engines rotates from one turn to the next."""
    for turn in range(given.repeats):
        first = turn % len(given.engines)
        engines = (*given.engines[first:], *given.engines[:first])
        for model, name, policy, beam in itertools.product(given.models, sets, given.policies, given.beams):
            for engine in engines:
                yield Measurement(model, engine, beam, policy, name, given.threads, turn)


def run(
    given: argparse.Namespace, sets: Mapping[str, RecordingSet], folder: str, start: Callable[..., Any] = Process
) -> None:
    """Take the measurements that are missing; an engine that fails with a model is left out from there on."""
    known = done(read_records([given.out])) if given.out.exists() else set()
    facts = machine_facts()
    scorer = start(interpreter("openai-f32", given.python), "benchmarks.word_errors", (), 1)
    failed: set[tuple[str, str]] = set()
    for wanted in plan(given, list(sets)):
        if wanted in known or (wanted.engine, wanted.model) in failed:
            continue
        time.sleep(PAUSE_S)
        try:
            records = measure(wanted, sets[wanted.set], given, folder, start)
        except RuntimeError as error:
            print(f"{wanted.model} without {wanted.engine}: {error}", file=sys.stderr)
            failed.add((wanted.engine, wanted.model))
            continue
        records = [record | scorer.ask(**score_request(record, sets[wanted.set])) | facts for record in records]
        append(given.out, records)
        seconds = sum(record["seconds"] for record in records)
        print(f"{seconds:8.2f} s  {' '.join(map(str, asdict(wanted).values()))}", file=sys.stderr)
    scorer.close()


def measure(
    wanted: Measurement, chosen: RecordingSet, given: argparse.Namespace, folder: str, start: Callable[..., Any]
) -> list[dict[str, Any]]:
    """A record for each recording of the set: load in a new process, get warm, transcribe."""
    arguments = (wanted.engine, wanted.model, str(given.models_dir.resolve()), str(wanted.threads), str(wanted.beam))
    process = start(interpreter(wanted.engine, given.python), "benchmarks.worker", arguments, wanted.threads)

    def ask(recording: Recording, *, is_warming: bool) -> dict[str, Any]:
        answer: dict[str, Any] = process.ask(
            path=str(wave_path(folder, recording)),
            is_warming=is_warming,
            is_read_by_engine=chosen.is_read_by_engine,
            language=recording.language,
            policy=wanted.policy,
        )
        return answer

    ask(chosen.recordings[0], is_warming=True)
    shared = asdict(wanted) | {"batch": ENGINES[wanted.engine].batch} | process.ready
    records = [
        shared | {"file": recording.name, "audio_seconds": recording.seconds} | ask(recording, is_warming=False)
        for recording in chosen.recordings
    ]
    process.close()
    return records


def score_request(record: Mapping[str, Any], chosen: RecordingSet) -> dict[str, str]:
    """What the scorer is asked about a record."""
    recording = next(each for each in chosen.recordings if each.name == record["file"])
    return {"reference": recording.text, "text": record["text"], "language": recording.language}


def interpreter(engine: str, given: Sequence[str]) -> str:
    """The Python of an engine: this one for sasayaki; for a peer the one given for it, or for all, or this one."""
    if ENGINES[engine].package == "sasayaki":
        return sys.executable
    named = dict(each.rpartition("=")[::2] for each in given)
    return named.get(engine) or named.get("") or sys.executable


def machine_facts() -> dict[str, str]:
    """What a time depends on beside the options."""
    processor = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    name = processor[0].partition(":")[2].strip() if processor else "processor unknown"
    return {"machine": f"{name}, {os.cpu_count()} cores", "commit": commit.stdout.strip()}


if __name__ == "__main__":
    main()
