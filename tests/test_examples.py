"""The examples run and print what they promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sasayaki

pytestmark = pytest.mark.weights
ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/data"


def run(example: str, *arguments: str | Path) -> str:
    """What an example prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / example), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("recording", "printed"),
    [("en_fmt_123_mono-8-bit-44100Hz.wav", "one two three\t"), ("en_fox.ogg", "no command\t")],
)
def test_commands(recording: str, printed: str) -> None:
    said = run("commands.py", DATA / recording, "one two three", "three two one", "stop")
    assert said.startswith(printed)


def test_align() -> None:
    said = run("align.py", DATA / "en_jfk.mp3", "And so my fellow Americans, bananas grow on tall and green trees.")
    assert [line.split("\t")[2] for line in said.splitlines()][3:5] == [" fellow", " Americans,"]
    assert sum(line.startswith("not found") for line in said.splitlines()) >= 7


def test_own_filter() -> None:
    plain, filtered = run("own_filter.py", DATA / "en_jfk.mp3").splitlines()
    assert plain.count(" country") == 2
    assert filtered.count(" country") == 1


def test_did_you_mean() -> None:
    said = run("did_you_mean.py", DATA / "en_libri_367-130732-0006.flac").splitlines()
    assert re.fullmatch(r"\d+% .+", said[0])
    assert {"lobster", "newberg", "bird"} <= set(re.findall(r"\w+", " ".join(said).lower()))


def test_read_trace(tmp_path: Path) -> None:
    trace = sasayaki.Trace()
    sasayaki.load_model("tiny.en", precision="float32").transcribe(DATA / "en_libri_367-130732-0006.flac", trace=trace)
    trace.write(tmp_path / "trace.jsonl")
    first, *lines = run("read_trace.py", tmp_path / "trace.jsonl").splitlines()
    assert first.startswith("0.00 to ")
    assert "Newberg" in first
    assert any(re.fullmatch(r"  ApplyTimestampRules took away \d+%, most of all '.*' \d+%", line) for line in lines)
