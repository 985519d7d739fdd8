"""`sasayaki inspect`, with a scripted model and real files."""

from __future__ import annotations

import errno
import io
import sys
import types
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.cli.main import main, parse
from sasayaki.cli.transcribe import Transcribe
from sasayaki.cli.transcribing import TranscribingCommand
from sasayaki.trace import TranscriptionStarted
from tests.inspect.examples import recording, scripted_model


def wav_bytes(seconds: float = 12.0) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes((32_000 * recording(seconds)).astype(np.int16).tobytes())
    return buffer.getvalue()


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A recording in a fresh current folder, and a model that is loaded whatever its name."""
    monkeypatch.setattr(sasayaki, "load_model", lambda *_, **__: scripted_model(), raising=False)
    monkeypatch.chdir(tmp_path)
    Path("talk.wav").write_bytes(wav_bytes())
    return "talk.wav"


def test_the_page_is_called_like_the_recording_and_its_name_is_printed(
    talk: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", talk, "--language", "en"]) == 0
    assert capsys.readouterr() == ("talk.html\n", "")
    assert {path.name for path in Path().iterdir()} == {"talk.wav", "talk.html"}
    assert "<title>talk.wav" in Path("talk.html").read_text("utf-8")


def test_page_and_trace_go_where_they_are_told_to(talk: str) -> None:
    assert main(["inspect", talk, "--language", "en", "--html", "new/a.html", "--trace", "other/b.jsonl"]) == 0
    assert Path("new/a.html").read_text("utf-8").startswith("<!doctype html>")
    trace = sasayaki.Trace.read("other/b.jsonl")
    assert [window.seek for window in trace.windows()] == [0, 900]


def test_a_recording_may_be_a_url(talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sasayaki.cli.urls.open_url", lambda _: io.BytesIO(wav_bytes()))
    assert main(["inspect", "https://example.org/a/talks.wav?secret=1", "--language", "en"]) == 0
    assert "<title>talks" in Path("talks.html").read_text("utf-8")
    assert "secret" not in Path("talks.html").read_text("utf-8")


def test_a_recording_may_come_from_standard_input(talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(wav_bytes())))
    assert main(["inspect", "-", "--language", "en"]) == 0
    assert "<title>stdin" in Path("stdin.html").read_text("utf-8")


def test_a_single_temperature_goes_up_as_in_transcribe(talk: str) -> None:
    main(["inspect", talk, "--language", "en", "--temperature", "0.6", "--trace", "t.jsonl"])
    (started,) = sasayaki.Trace.read("t.jsonl").of(TranscriptionStarted)
    assert started.options["temperature"] == [0.6, 0.8, 1.0]


@pytest.mark.parametrize(
    "options", [[], ["--temperature", "0"], ["--beam-size", "2", "--compat", "True"], ["--phrases", "Ada=2"]], ids=str
)
def test_options_are_those_of_transcribe(options: list[str]) -> None:
    ways = [parse([command, "talk.wav", *options]) for command in ("inspect", "transcribe")]
    assert all(isinstance(way, TranscribingCommand) for way in ways)
    inspect, transcribe = ways
    assert isinstance(transcribe, Transcribe)
    assert inspect.effective_options() == transcribe.effective_options()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["none.wav"], "no such file: none.wav"),
        (["."], "expected a recording, got a folder: ."),
        (["text.txt"], "text.txt"),
        (["talk.wav", "--html", "folder"], "cannot write folder: there is a folder of that name"),
        (["talk.wav", "--html", "text.txt/page.html"], "cannot write into text.txt: it is a file, not a folder"),
        (["talk.wav", "--html", "./talk.wav"], "html must be a file of its own, got the recording talk.wav"),
        (["talk.wav", "--trace", "talk.wav"], "trace must be a file of its own, got the recording talk.wav"),
        (["talk.wav", "--trace", "talk.html"], "trace must be a file of its own, got talk.html, the file of html"),
        (["talk.wav", "--trace", "folder"], "cannot write folder: there is a folder of that name"),
        (["talk.wav", "--beam_size", "0"], "beam_size must be at least 1, got 0"),
        ([], "FILE"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_one_line(
    talk: str, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    Path("text.txt").write_text("no sound")
    before = Path(talk).read_bytes()
    assert main(["inspect", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("sasayaki: error: ")
    assert said.err.count("\n") == 1
    assert line in said.err
    assert Path(talk).read_bytes() == before
    assert not Path("talk.html").exists()


def test_a_folder_that_takes_no_files_is_found_before_the_work_begins(
    talk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    monkeypatch.setattr(sasayaki, "load_model", refuse, raising=False)
    assert main(["inspect", talk, "--html", "locked/page.html"]) == 2
    assert capsys.readouterr().err == "sasayaki: error: cannot write into the folder locked: Permission denied\n"


def test_an_unexpected_fault_is_one_line_too(
    talk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: Any, **__: Any) -> Callable[..., Any]:
        raise RuntimeError("the engine broke")

    monkeypatch.setattr(sasayaki, "load_model", crash, raising=False)
    assert main(["inspect", talk]) == 1
    assert capsys.readouterr().err == (
        "sasayaki: error: unexpected RuntimeError: the engine broke (--debug shows where)\n"
    )
