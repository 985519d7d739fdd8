"""`--resume`: what is killed goes on, and ends as if nothing had happened."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sasayaki.cli.main import main
from sasayaki.cli.outputs import Job
from tests.cli.fake_model import FakeModel
from tests.scripted_model import tone, wav

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
OPTIONS = ["--language", "en", "--beam_size", "None", "-f", "json,srt,txt"]

Recording = Callable[..., str]


def write_tones(path: Path, *names: str) -> None:
    """A recording of 30 s of each tone."""
    path.write_bytes(wav(np.concatenate([tone(name, 30) for name in names])))


def start(folder: Path, *arguments: str, step_seconds: float = 0.0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cli.slow_model", "transcribe", "a.wav", "b.wav", *OPTIONS, *arguments],
        cwd=folder,
        env={**ENVIRONMENT, "STEP_SECONDS": str(step_seconds)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".wav"}


def kill_after_work(process: subprocess.Popen[str], folder: Path, delay: float) -> None:
    """Kill -9 at a moment after the work began; it may be over by then."""
    deadline = time.monotonic() + 60
    while process.poll() is None and not list(folder.glob(".*.sasayaki")) and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes], str]:
    """Two recordings, and what a run without interruption makes of them."""
    folder = tmp_path_factory.mktemp("whole")
    write_tones(folder / "a.wav", "low", "high", "middle", "top")
    write_tones(folder / "b.wav", "top", "low", "middle")
    process = start(folder)
    printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert set(contents(folder)) == {f"{name}.{ending}" for name in "ab" for ending in ("json", "srt", "txt")}
    return folder, contents(folder), printed


@pytest.mark.parametrize("worker", range(4))
def test_a_run_that_is_killed_at_any_moment_ends_as_if_it_had_not_been(
    tmp_path: Path, expected: tuple[Path, dict[str, bytes], str], worker: int
) -> None:
    """Kill -9 four times in each of four runs, then let it end: the same files, byte for byte, and nothing beside."""
    source, files, _ = expected
    kill_and_resume(source, files, tmp_path, random.Random(worker))


def test_recordings_side_by_side_go_on_after_being_killed(tmp_path: Path) -> None:
    """With windows of both recordings at work at the same moment."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    for name in ("a.wav", "b.wav"):
        write_tones(tmp_path / "whole" / name, "low", "high")
    batches = ["--batch_size", "3", "--vad", "off"]
    process = start(tmp_path / "whole", *batches)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    kill_and_resume(tmp_path / "whole", contents(tmp_path / "whole"), tmp_path / "killed", random.Random(9), *batches)


def kill_and_resume(source: Path, files: dict[str, bytes], folder: Path, rng: random.Random, *arguments: str) -> None:
    for name in ("a.wav", "b.wav"):
        (folder / name).write_bytes((source / name).read_bytes())
    for attempt in range(4):
        resume = ["--resume"] if attempt else []
        kill_after_work(start(folder, *arguments, *resume, step_seconds=0.02), folder, rng.uniform(0, 1.0))
        written = contents(folder)
        assert all(files[name] == data for name, data in written.items() if not name.startswith("."))
    process = start(folder, *arguments, "--resume")
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert contents(folder) == files


def test_what_is_done_is_not_done_again(tmp_path: Path, expected: tuple[Path, dict[str, bytes], str]) -> None:
    source, files, printed = expected
    for path in sorted(source.iterdir(), key=lambda path: path.suffix != ".wav"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "b.srt").unlink()
    process = start(tmp_path, "--resume")
    out, said = process.communicate(timeout=120)
    assert said == "a.wav: done already\n"
    assert out == printed[printed.index("b.wav:") :]
    assert contents(tmp_path) == files


def test_old_files_of_a_run_that_was_to_replace_them_do_not_count_as_done(
    model: FakeModel, recording: Recording
) -> None:
    """The first run ended at `a`; what an older run, with another model, wrote of `b` is not what was asked for."""
    files = [recording("a.mp3", "interrupt"), recording("b.mp3")]
    Path("b.txt").write_text("old")
    assert main(["transcribe", *files, "-f", "txt", "-q"]) == 130
    recording("a.mp3", "sound")
    assert main(["transcribe", *files, "-f", "txt", "-q", "--resume"]) == 0
    assert model.heard == ["a.mp3", "a.mp3", "b.mp3"]
    assert "Hello" in Path("b.txt").read_text()
    assert main(["transcribe", *files, "-f", "txt", "-q", "--resume"]) == 0
    assert len(model.heard) == 3
    assert list(Path().glob(".*")) == []


def test_a_recording_that_changed_after_its_files_were_written_is_not_done(
    model: FakeModel, recording: Recording
) -> None:
    file = recording()
    run = ["transcribe", file, "-f", "txt,srt", "-q", "--resume"]
    assert main(run) == 0
    assert main(run) == 0
    assert len(model.heard) == 1
    os.utime(file, (time.time() + 60, time.time() + 60))
    assert main(run) == 0
    assert len(model.heard) == 2


def test_standard_input_is_never_done_already(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came the last time is not known to be the same."""
    recording()
    for content in (b"one", b"two"):
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(content)))
        assert main(["transcribe", "-", "-f", "txt", "-q", "--resume"]) == 0
    assert model.heard == [b"one", b"two"]


def test_a_run_without_resume_begins_anew(model: FakeModel, recording: Recording) -> None:
    file = recording()
    Path(".talk.sasayaki").write_text("windows of an earlier run")
    seen: list[bool] = []
    begin = Job.begin

    def spy(job: Job, *, resume: bool) -> None:
        begin(job, resume=resume)
        seen.append(Path(".talk.sasayaki").exists())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Job, "begin", spy)
        assert main(["transcribe", file, "-f", "txt", "-q"]) == 0
    assert seen == [False]


def test_resume_needs_files_to_write(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["transcribe", recording(), "--resume"]) == 2
    assert "output_format" in capsys.readouterr().err
    assert model.n_loads == 0


def test_the_passing_files_of_killed_runs_are_removed(model: FakeModel, recording: Recording) -> None:
    from sasayaki.writers import Output

    file = recording()
    left = Output.open("talk.txt")
    other = Output.open("other.txt")
    assert main(["transcribe", file, "-f", "txt", "-q", "--resume"]) == 0
    assert len(list(Path().glob(".sasayaki-*"))) == 1
    left.abort()
    other.abort()
