"""Files that grow while a recording is transcribed."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sasayaki.errors import OutputError
from sasayaki.options import WriterOptions
from sasayaki.writers import FORMATS, Output, render, write
from sasayaki.writers.files import PassingFile
from tests.writers.transcriptions import make_segment, make_transcription

TALK = make_transcription(
    make_segment(0.0, 2.3, " Hello there."),
    make_segment(2.3, 2.3, " Short.", id=1),
    make_segment(4.0, 7.0, " für & wider <b>", id=2),
)


def passing(folder: Path) -> str:
    """What stands in the one passing file."""
    (file,) = folder.glob(".sasayaki-*.tmp")
    return file.read_text("utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_segment_by_segment_gives_the_same_file_as_the_whole(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"talk.{FORMATS[name].ending}"
    with Output.open(path) as output:
        for segment in TALK.segments:
            output.write(segment)
        assert not path.exists()
        output.commit(TALK)
    assert path.read_text("utf-8") == render(TALK, name)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("name", FORMATS)
def test_a_segment_is_on_disk_as_soon_as_it_is_final(tmp_path: Path, name: str) -> None:
    with Output.open(tmp_path / f"talk.{FORMATS[name].ending}") as output:
        output.write(TALK.segments[0])
        assert "there." in passing(tmp_path)
        output.write(TALK.segments[1])
        output.write(TALK.segments[2])
        assert "Short." in passing(tmp_path)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError, GeneratorExit])
def test_what_is_not_committed_leaves_the_old_file(tmp_path: Path, fault: type[BaseException]) -> None:
    """B162: no half-written file after Ctrl-C or a crash."""
    path = tmp_path / "talk.json"
    write(make_transcription(make_segment(0, 1, " old")), path)

    def fail() -> None:
        with Output.open(path) as output:
            output.write(TALK.segments[0])
            raise fault

    with pytest.raises(fault):
        fail()
    assert json.loads(path.read_text())["text"] == " old"
    assert os.listdir(tmp_path) == ["talk.json"]


@pytest.mark.parametrize("n_pieces", [0, 1, 2])
@pytest.mark.parametrize("name", ["talk.json", "talk.ass"])
def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, n_pieces: int
) -> None:
    """Whichever piece has no room: the head, a segment, the end."""
    path = tmp_path / name
    path.write_text("old")
    plain, written = PassingFile.write, itertools.count()

    def write_some(file: PassingFile, text: str) -> None:
        if text and next(written) >= n_pieces:
            raise OutputError(f"cannot write {file.target}: No space left on device")
        plain(file, text)

    monkeypatch.setattr(PassingFile, "write", write_some)
    with pytest.raises(OutputError, match="No space left"):
        write(TALK, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [name]


def test_abort_removes_what_was_written_and_spares_what_was_committed(tmp_path: Path) -> None:
    output = Output.open(tmp_path / "talk.srt")
    output.write(TALK.segments[0])
    output.abort()
    assert os.listdir(tmp_path) == []
    output = Output.open(tmp_path / "talk.srt")
    output.commit(make_transcription())
    output.abort()
    assert os.listdir(tmp_path) == ["talk.srt"]


def test_a_killed_process_leaves_the_segments_and_no_half_file(tmp_path: Path) -> None:
    """B162: `kill -9` in the middle."""
    code = (
        "import os, signal\n"
        "from sasayaki.writers import Output\n"
        "from tests.writers.test_output import TALK\n"
        "output = Output.open('talk.srt')\n"
        "output.write(TALK.segments[0])\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "talk.srt").exists()
    assert passing(tmp_path) == "1\n00:00:00,000 --> 00:00:02,300\nHello there.\n\n"


def test_a_target_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "talk.srt").mkdir()
    for path, reason in [("talk.srt", "folder"), ("none/talk.srt", "No such file"), ("talk.doc", "must end with")]:
        with pytest.raises(OutputError, match=reason):
            Output.open(tmp_path / path, WriterOptions())
