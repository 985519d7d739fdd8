"""Tables and charts from the lines of JSON that `compare.py` writes.

python -m benchmarks.report speed.jsonl                  # tables in Markdown
python -m benchmarks.report speed.jsonl --charts docs    # and docs/speed-wer.png, docs/speed-length.png
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.records import read_records

HEAD = ("engine", "beams", "time s", "least s", "times real time", "sasayaki is faster by", "WER %", "peak memory MiB")
LENGTHS = "length-"
"""What the names of sets begin with that show time and memory against length."""


@dataclass(frozen=True)
class Section:
    """What rows must have in common to be compared with one another."""

    policy: str
    model: str
    set: str
    is_batch: bool
    threads: int


@dataclass(frozen=True)
class Row:
    """What one engine did with one set of recordings.

    Attributes:
        section: the table that it belongs to.
        engine: its name.
        beam: number of beams.
        n_files: recordings in the set.
        n_repeats: measurements of each.
        audio_seconds: duration of all recordings.
        seconds: wall time of all recordings, each the median of its measurements.
        least_seconds: the same with the least of its measurements.
        wer: word error rate in percent.
        peak_mib: highest resident size of the process, loading included.
    """

    section: Section
    engine: str
    beam: int
    n_files: int
    n_repeats: int
    audio_seconds: float
    seconds: float
    least_seconds: float
    wer: float
    peak_mib: float


def summarise(records: Iterable[dict[str, Any]]) -> list[Row]:
    """One row for each section, engine and number of beams, in the order of the records."""
    groups: dict[Any, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in records:
        section = Section(each["policy"], each["model"], each["set"], each["batch"] > 1, each["threads"])
        groups[section, each["engine"], each["beam"]][each["file"]].append(each)
    rows = []
    for (section, engine, beam), files in groups.items():
        every = [each for file in files.values() for each in file]
        rows.append(
            Row(
                section=section,
                engine=engine,
                beam=beam,
                n_files=len(files),
                n_repeats=min(map(len, files.values())),
                audio_seconds=sum(file[0]["audio_seconds"] for file in files.values()),
                seconds=sum(statistics.median(each["seconds"] for each in file) for file in files.values()),
                least_seconds=sum(min(each["seconds"] for each in file) for file in files.values()),
                wer=100 * sum(each["errors"] for each in every) / max(1, sum(each["words"] for each in every)),
                peak_mib=max(max(each["peak_mib"], each["load_peak_mib"]) for each in every),
            )
        )
    return rows


def tables(records: Sequence[dict[str, Any]]) -> str:
    """Markdown: where and what was measured, then a table for each policy, model and set, batches apart."""
    sections: dict[Any, list[Row]] = defaultdict(list)
    for row in summarise(records):
        sections[row.section].append(row)
    return "\n".join([origin(records), "", *(table(rows) for rows in sections.values())])


def origin(records: Iterable[dict[str, Any]]) -> str:
    """Machine, commits and versions."""
    found: dict[str, dict[str, None]] = {"machine": {}, "commit": {}, "version": {}}
    for each in records:
        for name, values in found.items():
            values[each[name]] = None
    machine, commit, version = map(", ".join, found.values())
    return f"Machine: {machine}; commit: {commit}; {version}."


def table(rows: Sequence[Row]) -> str:
    """A table of one section with a line above it that says what it shows."""
    section = rows[0].section
    repeats = sorted({row.n_repeats for row in rows})
    audio = f"{rows[0].n_files} {section.set}" if rows[0].n_files > 1 else section.set
    lines = [
        f"{section.model}, {audio} ({rows[0].audio_seconds:.0f} s){', in batches' * section.is_batch}, "
        f"policy `{section.policy}`, {section.threads} threads, median of {' to '.join(map(str, repeats))}:",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
    ]
    ours = {row.beam: row.seconds for row in rows if row.engine in ("sasayaki", "sasayaki-batch8")}
    for row in sorted(rows, key=lambda row: (row.beam, row.seconds)):
        ratio = f"{row.seconds / ours[row.beam]:.2f}" if row.beam in ours else ""
        speed = f"{row.audio_seconds / row.seconds:.1f}"
        cells = (row.engine, row.beam, f"{row.seconds:.2f}", f"{row.least_seconds:.2f}", speed, ratio)
        lines.append("| " + " | ".join(map(str, (*cells, f"{row.wer:.2f}", f"{row.peak_mib:.0f}"))) + " |")
    return "\n".join([*lines, ""])


def draw_speed(rows: Sequence[Row], path: Path) -> None:
    """Speed against word error rate: a row of panels for each model, a panel for each set, one by one or in batches."""
    from matplotlib import pyplot

    sections = list(dict.fromkeys(row.section for row in rows))
    models = list(dict.fromkeys(section.model for section in sections))
    n_columns = max(sum(section.model == model for section in sections) for model in models)
    size = (6 * n_columns, 4.5 * len(models))
    figure, panels = pyplot.subplots(len(models), n_columns, figsize=size, squeeze=False)
    for model, line in zip(models, panels, strict=True):
        own = [section for section in sections if section.model == model]
        for section, panel in zip(own, line, strict=False):
            draw_panel(panel, [row for row in rows if row.section == section])
        for panel in line[len(own) :]:
            panel.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw_panel(panel: Any, rows: Sequence[Row]) -> None:
    """The engines of one section; names of the fast ones stand left of their places."""
    fastest = max(row.audio_seconds / row.seconds for row in rows)
    for row in rows:
        colour = "tab:red" if row.engine.startswith("sasayaki") else "tab:blue"
        speed = row.audio_seconds / row.seconds
        panel.plot(speed, row.wer, "o" if row.beam > 1 else "s", color=colour)
        label = f"{row.engine}, {row.beam} beam{'s' * (row.beam > 1)}"
        side, at = ("right", (-6, 4)) if speed > 0.6 * fastest else ("left", (6, 4))
        panel.annotate(label, (speed, row.wer), xytext=at, textcoords="offset points", fontsize=8, ha=side)
    section = rows[0].section
    title = f"{section.model}, {section.set}{', in batches' * section.is_batch} ({section.policy})"
    panel.set_title(title, fontsize=10)
    panel.set_xlabel("speed, times real time (right is better)")
    panel.set_ylabel("word error rate, % (down is better)")
    panel.margins(0.25)
    panel.set_xlim(left=0)
    panel.grid(alpha=0.3)


def draw_lengths(rows: Sequence[Row], path: Path) -> None:
    """Time per second of audio, and memory, against the length of joined recordings."""
    from matplotlib import pyplot

    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(12, 4.5))
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.audio_seconds):
        lines[f"{row.engine}, {row.section.model}, {row.beam} beam{'s' * (row.beam > 1)}"].append(row)
    for label, points in lines.items():
        minutes = [row.audio_seconds / 60 for row in points]
        times.plot(minutes, [1000 * row.seconds / row.audio_seconds for row in points], marker="o", label=label)
        memory.plot(minutes, [row.peak_mib for row in points], marker="o", label=label)
    for panel, title in ((times, "time per second of audio, ms"), (memory, "peak memory, MiB")):
        panel.set(title=title, xlabel="audio, minutes", xscale="log")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    memory.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def draw(rows: Sequence[Row], folder: Path, policy: str) -> list[Path]:
    """The charts that the rows of a policy suffice for."""
    shown = [row for row in rows if row.section.policy == policy]
    lengths = [row for row in shown if row.section.set.startswith(LENGTHS)]
    speeds = [row for row in shown if row not in lengths]
    made = []
    folder.mkdir(parents=True, exist_ok=True)
    if speeds:
        made.append(folder / "speed-wer.png")
        draw_speed(speeds, made[-1])
    if lengths:
        made.append(folder / "speed-length.png")
        draw_lengths(lengths, made[-1])
    return made


def main() -> None:
    """Print the tables, draw the charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--charts", type=Path, help="folder for PNG files; needs matplotlib (extra `bench`)")
    parser.add_argument("--policy", default="matched", help="whose charts to draw")
    given = parser.parse_args()
    records = read_records(given.records)
    print(tables(records))
    if given.charts:
        draw(summarise(records), given.charts, given.policy)


if __name__ == "__main__":
    main()
