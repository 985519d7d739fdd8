"""Where the resident memory of a transcription is: by kind of mapping, after each stage, and at its peak.

    measure_memory.py AUDIO --model base --beam-size 5 --batch-size 8 --seconds 240

Linux only. Each run is a process of its own; the first one of a model compiles its graphs, which takes more memory than
any later one. `anonymous` is what was allocated, the rest are pages of files, which go when memory is needed.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from pathlib import Path

MIB = 2**20
MAPPING = re.compile(r"^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)$")


def main() -> None:
    """Transcribe, and print a line for each stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audio")
    parser.add_argument("--model", default="base")
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--batch-size", default="1")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    tell("start")
    import sasayaki

    model = sasayaki.load_model(arguments.model, threads=arguments.threads)
    tell("model loaded")
    n_windows = 0

    def progress(done: float, total: float) -> None:
        nonlocal n_windows
        n_windows += 1
        if n_windows in (1, 2, 4, 8, 16, 32, 64):
            tell(f"{n_windows} windows, {done:.0f} s of {total:.0f}")

    stream = model.stream(
        arguments.audio,
        language="en",
        vad="off",
        temperature=0.0,
        condition_on_previous_text=False,
        beam_size=arguments.beam_size if arguments.beam_size > 1 else None,
        batch_size=arguments.batch_size,
        clip_timestamps=[0, arguments.seconds],
        progress=progress,
    )
    tell("recording opened")
    stream.collect()
    tell("done")


def tell(stage: str) -> None:
    """Print the resident memory at a stage, in MiB."""
    kinds = resident()
    parts = ", ".join(f"{kind} {size / MIB:.0f}" for kind, size in kinds.most_common() if size > MIB)
    print(f"{stage}: {kinds.total() / MIB:.0f} now, {peak() / MIB:.0f} at the peak ({parts})", flush=True)


def resident() -> Counter[str]:
    """Resident bytes of each kind of mapping."""
    kinds: Counter[str] = Counter()
    kind = ""
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if found := MAPPING.match(line):
            kind = kind_of(found[1])
        elif line.startswith("Rss:"):
            kinds[kind] += int(line.split()[1]) << 10
    return kinds


def kind_of(name: str) -> str:
    """What is mapped there, by the name of the file."""
    base = os.path.basename(name)
    if not name.startswith("/"):
        return "anonymous"
    if base.endswith(".graph"):
        return "graphs"
    if ".so" in base or "python" in base:
        return "libraries of OpenVINO" if "openvino" in name else "other libraries"
    return "other files"


def peak() -> int:
    """The most resident bytes so far."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


if __name__ == "__main__":
    main()
