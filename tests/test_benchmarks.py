"""The parts of the benchmarks that need no engine: joined recordings, word errors, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.recordings import RATE, Clip, join, read_manifest, spread
from benchmarks.report import summarise, tables
from benchmarks.word_errors import edit_distance


def clip(number: int, seconds: float = 2.0) -> Clip:
    return Clip(Path(f"{number}.wav"), "en", seconds, f"text {number}")


def load(path: Path) -> np.ndarray:
    return np.full(2 * RATE, int(path.stem) + 1, np.float32)


@pytest.mark.parametrize(
    ("expected", "got", "errors"),
    [("", "", 0), ("a b", "", 2), ("", "a b", 2), ("a b c", "a c", 1), ("a b c", "x a b c", 1), ("a b", "b a", 2)],
)
def test_edit_distance_counts_replaced_missing_and_added_words(expected: str, got: str, errors: int) -> None:
    assert edit_distance(expected.split(), got.split()) == errors


def test_joined_recording_lasts_as_long_as_asked_and_has_a_pause_behind_each_clip() -> None:
    recording = join([clip(0), clip(1)], load, seconds=9)
    assert 9 <= recording.seconds < 12
    assert recording.text == "text 0 text 1 text 0 text 1"
    assert recording.samples[2 * RATE] == 0
    assert recording.samples[2 * RATE - 1] == 1


def test_joined_recording_needs_clips() -> None:
    with pytest.raises(ValueError, match="expected clips"):
        join([], load, seconds=9)


def test_fewer_clips_are_spread_over_all() -> None:
    assert [each.path.stem for each in spread([clip(n) for n in range(9)], 8)] == ["0", "3", "6"]


def test_manifest_gives_clips_of_the_language_with_text(tmp_path: Path) -> None:
    rows = ["file\tlanguage\tseconds\ttext\tnote", "a.wav\ten\t2\thello\t", "b.wav\ten\t31\tlong\t"]
    (tmp_path / "all.tsv").write_text("\n".join([*rows, "c.wav\tde\t2\thallo\t", "d.wav\ten\t2\t\t"]))
    assert read_manifest(tmp_path / "all.tsv", language="en") == [Clip(tmp_path / "a.wav", "en", 2.0, "hello")]


def record(engine: str, seconds: float, **changes: Any) -> dict[str, Any]:
    made = {"engine": engine, "batch": 1, "model": "base", "beam": 1, "policy": "matched", "set": "joined-60s"}
    made |= {"file": "joined-60s", "audio_seconds": 60.0, "errors": 5, "words": 100, "seconds": seconds}
    return made | {"load_peak_mib": 300.0, "peak_mib": 200.0} | changes


def test_table_has_medians_and_how_much_faster_sasayaki_is() -> None:
    records = [*(record("sasayaki", seconds) for seconds in (2.0, 9.0, 3.0)), record("fw-int8", 6.0)]
    printed = tables(records)
    assert "| sasayaki | 1 | 3.00 | 20.0 | 1.00 | 5.00 | 300 |" in printed
    assert "| fw-int8 | 1 | 6.00 | 10.0 | 2.00 | 5.00 | 300 |" in printed


def test_times_of_several_files_add_up_and_batches_stand_apart() -> None:
    files = [record("fw-int8", 1.0, set="clips", file=name) for name in ("a", "b")]
    single, batch = summarise([*files, record("fw-int8-batch8", 1.0, set="clips", batch=8)])
    assert (single.seconds, single.n_files, single.wer) == (2.0, 2, 5.0)
    assert batch.section != single.section
