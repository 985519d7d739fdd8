"""`sasayaki align`: what is read, printed, written and refused."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from sasayaki.cli.main import main
from tests.cli.fake_model import FakeModel

LINES = "0.00\t0.50\t0.500\tone\n-\t-\t0.500\ttwo\n2.00\t2.50\t0.500\tthree\n"
Make = Callable[..., str]


def test_words_are_printed_with_their_times(
    model: FakeModel, recording: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", recording(), "one two three", "--language", "en", "--model", "tiny"]) == 0
    assert capsys.readouterr() == (LINES, "")
    assert model.load_arguments["model"] == "tiny"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_text_may_be_a_file_or_standard_input(
    model: FakeModel,
    recording: Make,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
) -> None:
    talk = recording()
    Path("talk.txt").write_text("one two\nthree", encoding)
    assert main(["align", talk, "@talk.txt"]) == 0
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO("one two three".encode(encoding))))
    assert main(["align", talk, "@-"]) == 0
    assert capsys.readouterr() == (2 * LINES, "")


def test_files_are_written_like_those_of_a_transcription(model: FakeModel, recording: Make) -> None:
    assert main(["align", recording(), "one two three", "-f", "srt,csv", "-o", "out"]) == 0
    assert "00:00:00,000 --> 00:00:02,500\none two three" in Path("out/talk.srt").read_text("utf-8")
    assert {path.name for path in Path("out").iterdir()} == {"talk.srt", "talk.csv"}


def test_progress_and_a_time_limit_as_for_transcriptions(
    model: FakeModel, recording: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", recording(), "one two three", "--progress", "True"]) == 0
    assert "100%" in capsys.readouterr().err
    assert main(["align", recording(), "one", "--time_limit", "5"]) == 3
    assert "time_limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["none.mp3", "one"], "no such file"),
        (["talk.mp3", "@none.txt"], "cannot read none.txt"),
        (["talk.mp3", "@latin.txt"], "UTF-8"),
        (["talk.mp3", "@talk.txt", "-f", "txt"], "written over"),
        (["-", "@-"], "not both"),
        (["talk.mp3"], "text"),
        (["talk.mp3", " "], "text must be what is said"),
        (["talk.mp3", "@"], "@ without a name"),
        (["talk.mp3", "one", "--language", "xx"], "language"),
        (["talk.mp3", "one", "--time_limit", "nan"], "time_limit"),
        (["talk.mp3", "one", "-f", "doc"], "output_format"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(
    model: FakeModel, recording: Make, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    recording()
    Path("talk.txt").write_text("one")
    Path("latin.txt").write_bytes(b"caf\xe9")
    assert main(["align", *arguments]) == 2
    said = capsys.readouterr().err
    assert complaint in said.lower() or complaint in said
    assert said.count("\n") == 1
    assert model.n_loads == 0
    assert Path("talk.txt").read_text() == "one"
