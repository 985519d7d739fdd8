"""Tables and charts from the lines of JSON that `compare.py` writes.

python -m benchmarks.report speed.jsonl                  # tables in Markdown
python -m benchmarks.report speed.jsonl --charts docs    # and docs/speed-wer.png, docs/speed-length.png
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = ("engine", "beams", "time s", "times real time", "sasayaki is faster by", "WER %", "peak memory MiB")


@dataclass(frozen=True)
class Row:
    """What one engine did with one set of recordings.

    Attributes:
        section: policy, model, set, and whether in batches: rows of a section are compared with one another.
        engine: its name.
        beam: number of beams.
        n_files: recordings in the set.
        n_repeats: measurements of each.
        audio_seconds: duration of all recordings.
        seconds: wall time of all recordings, each the median of its measurements.
        wer: word error rate in percent.
        peak_mib: highest resident size of the process, loading included.
        run_mib: highest resident size while it transcribed.
    """

    section: tuple[str, str, str, bool]
    engine: str
    beam: int
    n_files: int
    n_repeats: int
    audio_seconds: float
    seconds: float
    wer: float
    peak_mib: float
    run_mib: float


def summarise(records: Iterable[dict[str, Any]]) -> list[Row]:
    """One row for each section, engine and number of beams, in the order of the records."""
    groups: dict[Any, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for each in records:
        section = (each["policy"], each["model"], each["set"], each["batch"] > 1)
        groups[section, each["engine"], each["beam"]][each["file"]].append(each)
    rows = []
    for (section, engine, beam), files in groups.items():
        every = [each for file in files.values() for each in file]
        run_mib = max(each["peak_mib"] for each in every)
        rows.append(
            Row(
                section=section,
                engine=engine,
                beam=beam,
                n_files=len(files),
                n_repeats=min(map(len, files.values())),
                audio_seconds=sum(file[0]["audio_seconds"] for file in files.values()),
                seconds=sum(statistics.median(each["seconds"] for each in file) for file in files.values()),
                wer=100 * sum(each["errors"] for each in every) / max(1, sum(each["words"] for each in every)),
                peak_mib=max(run_mib, *(each["load_peak_mib"] for each in every)),
                run_mib=run_mib,
            )
        )
    return rows


def tables(records: Iterable[dict[str, Any]]) -> str:
    """Markdown: a table for each policy, model and set, batches apart."""
    sections: dict[Any, list[Row]] = defaultdict(list)
    for row in summarise(records):
        sections[row.section].append(row)
    return "\n".join(table(rows) for rows in sections.values())


def table(rows: Sequence[Row]) -> str:
    """A table of one section with a line above it that says what it shows."""
    policy, model, set_name, is_batch = rows[0].section
    repeats = sorted({row.n_repeats for row in rows})
    audio = f"{rows[0].n_files} × {set_name}" if rows[0].n_files > 1 else set_name
    lines = [
        f"{model}, {audio} ({rows[0].audio_seconds:.0f} s), {'in batches' if is_batch else 'one by one'}, "
        f"policy `{policy}`, median of {' to '.join(map(str, repeats))}:",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|" + "---|" * len(HEAD),
    ]
    ours = {row.beam: row.seconds for row in rows if row.engine.startswith("sasayaki")}
    for row in sorted(rows, key=lambda row: (row.beam, row.seconds)):
        ratio = f"{row.seconds / ours[row.beam]:.2f}" if row.beam in ours else ""
        cells = (row.engine, row.beam, f"{row.seconds:.2f}", f"{row.audio_seconds / row.seconds:.1f}", ratio)
        lines.append("| " + " | ".join(map(str, (*cells, f"{row.wer:.2f}", f"{row.peak_mib:.0f}"))) + " |")
    return "\n".join([*lines, ""])


def draw_speed(rows: Sequence[Row], path: Path) -> None:
    """Speed against word error rate: a panel for each section with several engines."""
    from matplotlib import pyplot

    sections = list(dict.fromkeys(row.section for row in rows))
    figure, panels = pyplot.subplots(1, len(sections), figsize=(6 * len(sections), 4.5), squeeze=False)
    for panel, section in zip(panels[0], sections, strict=True):
        for row in (row for row in rows if row.section == section):
            colour = "tab:red" if row.engine.startswith("sasayaki") else "tab:blue"
            speed = row.audio_seconds / row.seconds
            panel.plot(speed, row.wer, "o" if row.beam > 1 else "s", color=colour)
            label = f"{row.engine}, {row.beam} beam{'s' * (row.beam > 1)}"
            panel.annotate(label, (speed, row.wer), xytext=(6, 4), textcoords="offset points", fontsize=8)
        policy, model, set_name, is_batch = section
        panel.set_title(f"{model}, {set_name}{', in batches' * is_batch} ({policy})", fontsize=10)
        panel.set_xlabel("speed, times real time (right is better)")
        panel.set_ylabel("word error rate, % (down is better)")
        panel.margins(0.25)
        panel.set_xlim(left=0)
        panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def draw_lengths(rows: Sequence[Row], path: Path) -> None:
    """Time per second of audio, and memory, against the length of joined recordings."""
    from matplotlib import pyplot

    figure, (times, memory) = pyplot.subplots(1, 2, figsize=(12, 4.5))
    lines: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.audio_seconds):
        lines[row.engine, row.beam].append(row)
    for (engine, beam), points in lines.items():
        minutes = [row.audio_seconds / 60 for row in points]
        style = {"marker": "o", "label": f"{engine}, {beam} beam{'s' * (beam > 1)}"}
        times.plot(minutes, [1000 * row.seconds / row.audio_seconds for row in points], **style)
        memory.plot(minutes, [row.run_mib for row in points], **style)
    for panel, title in ((times, "time per second of audio, ms"), (memory, "peak memory, MiB")):
        panel.set(title=title, xlabel="audio, minutes", xscale="log")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    memory.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Print the tables, draw the charts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, nargs="+")
    parser.add_argument("--charts", type=Path, help="folder for PNG files; needs matplotlib (extra `bench`)")
    given = parser.parse_args()
    records = [json.loads(line) for path in given.records for line in path.read_text("utf-8").splitlines()]
    print(tables(records))
    if given.charts:
        rows = summarise(records)
        joined = [row for row in rows if row.section[2].startswith("joined")]
        lengths = {row.section[2] for row in joined}
        shown = most_engines(joined)
        draw_speed(
            [row for row in rows if row not in joined or row.section[2] == shown], given.charts / "speed-wer.png"
        )
        if len(lengths) > 1:
            draw_lengths(joined, given.charts / "speed-length.png")


def most_engines(rows: Sequence[Row]) -> str:
    """The joined recording that most engines transcribed."""
    counts = {row.section[2]: len({each.engine for each in rows if each.section[2] == row.section[2]}) for row in rows}
    return max(counts, key=lambda name: counts[name], default="")


if __name__ == "__main__":
    main()
