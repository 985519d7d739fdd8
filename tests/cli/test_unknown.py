"""Arguments that are no option here: what is said names what to write instead."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sasayaki.cli.main import COMMANDS, main
from sasayaki.cli.peers import _SHORT, ADVICE
from sasayaki.cli.unknown import option_names
from tests.cli.fake_model import FakeModel

Recording = Callable[..., str]


def say_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that the arguments are refused with."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    return line.removeprefix("sasayaki: error: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--compute_type", "int8"], "--compute_type is no option here: --precision chooses the number format"),
        (["--compute-type=int8"], "--compute-type is no option here: --precision"),
        (["--vad_filter", "True"], "--vad is silero, energy or off"),
        (["--diarize"], "speakers are not told apart; --channels split"),
        (["--align_model", "WAV2VEC2"], "--word_timestamps True"),
        (["-bs", "5"], "-bs is no option here: it is spelled --beam_size"),
        (["-osrt"], "-f srt"),
        (["-ml", "16"], "--max_line_width"),
        (["-fa"], "leave it out"),
        (["-l", "en"], "it is spelled --language"),
        (["--vad_min_silence_duration_ms", "500"], "--vad_min_silence takes seconds"),
    ],
)
def test_an_option_of_another_engine_is_answered_with_ours(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in say_of(capsys, "transcribe", recording(), *arguments)
    assert model.n_loads == 0
    assert [path.name for path in Path().iterdir()] == ["talk.mp3"]  # `-osrt` makes no folder srt


def test_all_options_of_other_engines_are_answered_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    said = say_of(capsys, "transcribe", "a.mp3", "--compute_type", "int8", "--diarize", "--hotwords", "x")
    assert all(name in said for name in ("--precision", "--channels", "--phrases"))


def test_no_option_of_ours_is_taken_for_one_of_another_engine() -> None:
    own = {name for command in COMMANDS.values() for name in option_names(command)}
    assert not own & ADVICE.keys()
    assert all(name in ADVICE or name in own for name in _SHORT.values())
    assert not {"m", "f", "o", "q", "h"} & _SHORT.keys()


def test_what_is_advised_is_an_option_of_ours() -> None:
    own = {name for command in COMMANDS.values() for name in option_names(command)} | {"temperature"}
    for name, advice in ADVICE.items():
        assert set(re.findall(r"--(\w+)", advice)) <= own, name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["talk.mp3", "--model", "tiny.en"], "did you mean `sasayaki transcribe talk.mp3 …`?"),
        (["talk.mp3"], "did you mean `sasayaki transcribe talk.mp3`?"),
        (["my talk.mp3"], "did you mean `sasayaki transcribe 'my talk.mp3'`?"),
        (["--model", "tiny.en", "talk.mp3"], "did you mean `sasayaki transcribe --model …`?"),
        (["--debug", "models"], "did you mean `sasayaki models --debug …`?"),
        (["detect_language", "talk.mp3"], "did you mean `sasayaki detect-language …`?"),
        ([], "`sasayaki transcribe FILE`"),
    ],
)
def test_without_a_command_one_is_proposed(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in say_of(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["transcribe", "a.mp3", "--lang", "en"], "unknown option --lang; did you mean --language or --languages?"),
        (["transcribe", "a.mp3", "--foo=3"], "unknown option --foo; `sasayaki transcribe --help` lists the options"),
        (["transcribe", "a.mp3", "--top", "3"], "unknown option --top; it belongs to sasayaki detect-language"),
        (["transcribe", "a.mp3", "--no-fp16"], "unknown option --no-fp16; write --fp16 False, or leave it out"),
        (["transcribe", "a.mp3", "--model", "tiny", "b.mp3"], "'b.mp3' stands apart; name all files in a row"),
        (["transcribe", "a.mp3", "--quiet", "True"], "--quiet takes no value, got 'True'; leave that out"),
        (["transcribe", "a.mp3", "--word_timestamps"], "option --word-timestamps needs a value behind it"),
        (["transcribe", "a.mp3", "--prefix", "-x"], "one that begins with - is given as --prefix=-…"),
        (["inspect", "a.mp3", "b.mp3"], "'b.mp3' is one too many; `sasayaki inspect --help`"),
        (["align", "a.mp3"], "Missing from sasayaki align: TEXT"),
    ],
)
def test_what_is_left_over_is_explained(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert words in say_of(capsys, *arguments)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("columns", ["1", "30", "200"])
def test_messages_are_the_same_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, encoding: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert main(["transcribe", "talk.mp3", "--temperature_increment_on_fallback", "x"]) == 2
    assert capsys.readouterr().err == (
        "sasayaki: error: Error parsing --temperature-increment-on-fallback: expected a number or None, got 'x'\n"
    )
