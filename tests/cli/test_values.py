"""Values on the command line."""

from __future__ import annotations

import os
from dataclasses import fields
from types import NoneType
from typing import Any

import pytest

from sasayaki.cli.main import main, parse
from sasayaki.cli.transcribe import Transcribe
from sasayaki.cli.values import parse_value
from sasayaki.errors import OptionError
from sasayaki.options import TranscribeOptions


def parse_option(name: str, value: str) -> Any:
    command = parse(["transcribe", "talk.mp3", f"--{name}", value])
    assert isinstance(command, Transcribe)
    holder = next(part for part in (command, command.options, command.model) if hasattr(part, name))
    return getattr(holder, name)


@pytest.mark.parametrize("text", ["None", "none", "NONE", "", " none "])
def test_none_is_understood_in_any_case(text: str) -> None:
    """B159: `--beam_size None|none|''`."""
    assert parse_value(text, (int, NoneType)) is None
    assert parse_value(text, (str, NoneType)) is None
    assert parse_option("beam_size", text) is None


@pytest.mark.parametrize(
    "name",
    [
        *(each.name for each in fields(TranscribeOptions) if "None" in str(each.type)),
        "temperature_increment_on_fallback",
        "threads",
        "output_dir",
        "verbose",
    ],
)
def test_none_is_understood_by_every_option_that_may_be_none(name: str) -> None:
    """B159: the same for all."""
    assert parse_option(name, "none") is None


@pytest.mark.parametrize("text", ["True", "true", "TRUE", "1", "yes", "on"])
def test_true_is_understood_in_any_case(text: str) -> None:
    """B159: `--word_timestamps True|true|1|yes`."""
    assert parse_option("carry_initial_prompt", text) is True


@pytest.mark.parametrize("text", ["False", "false", "0", "no", "Off"])
@pytest.mark.parametrize("name", ["fp16", "verbose"])
def test_false_is_understood_in_any_case(name: str, text: str) -> None:
    """B159: the same for False, on options that may be None too."""
    assert parse_option(name, text) is False


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("verbose", "False", False),
        ("beam_size", "3", 3),
        ("threads", "0", 0),
        ("patience", "1.5", 1.5),
        ("length_penalty", "1", 1.0),
        ("logprob_threshold", "-1e1", -10.0),
        ("temperature", "0,0.2", (0.0, 0.2)),
        ("temperature", "0.4", 0.4),
        ("suppress_tokens", "-1", "-1"),
        ("suppress_tokens", "-1, 50", "-1, 50"),
        ("clip_timestamps", "0,12.5", "0,12.5"),
        ("initial_prompt", "None of us, true or not", "None of us, true or not"),
        ("language", "Norwegian", "Norwegian"),
    ],
)
def test_values_get_the_type_of_their_option(name: str, text: str, value: object) -> None:
    parsed = parse_option(name, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--beam_size", "0"],
        ["--beam_size", "many"],
        ["--beam_size", "2.5"],
        ["--beam_size", "True"],
        ["--beam_size"],
        ["--temperature", "hot"],
        ["--temperature", "0,hot"],
        ["--temperature", "nan"],
        ["--temperature", ""],
        ["--temperature", "-1"],
        ["--temperature_increment_on_fallback", "-0.2"],
        ["--temperature_increment_on_fallback", "1e-9"],
        ["--temperature_increment_on_fallback", "nan"],
        ["--temperature_increment_on_fallback", "inf"],
        ["--threads", "-1"],
        ["--threads", "two"],
        ["--model_dir", os.devnull],
        ["--fp16", "maybe"],
        ["--verbose", "2"],
        ["--task", "sing"],
        ["--language", "klingon"],
        ["--suppress_tokens", "a,b"],
        ["--clip_timestamps", "5,2"],
        ["--phrases", "Kubernetes"],
        ["--phrases", "Kubernetes=many"],
        ["--phrases", "@no-such-file.json"],
        ["--filters", "x"],
        ["--output_format", "doc"],
        ["--output_format", ""],
        ["--output_format", ","],
        ["--time_limit", "0"],
        ["--time_limit", "nan"],
        ["--batch_size", "None"],
        ["--vad_min_silence", "1e308"],
        ["--min_cue_gap", "1e308", "--captions", "bbc"],
        ["--reading_speed", "1e308", "--captions", "bbc"],
        ["--sentences", "True"],
        ["--foo", "3"],
        ["stray", "--debug", "--model", "base", "late.mp3"],
    ],
)
def test_a_value_that_cannot_be_used_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """B159: exit code 2 and one line that names the option, before anything is loaded."""
    assert main(["transcribe", "talk.mp3", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("sasayaki: error: ")
    named = arguments[0].strip("-")
    assert named in line.replace("-", "_") or "late.mp3" in line


def test_a_misspelt_option_gets_a_suggestion() -> None:
    with pytest.raises(OptionError, match=r"--beam_sizze.*did you mean --beam_size"):
        parse(["transcribe", "talk.mp3", "--beam_sizze", "3"])


@pytest.mark.parametrize("spelling", ["--initial_prompt", "--initial-prompt"])
def test_options_are_spelled_with_dashes_or_underscores(spelling: str) -> None:
    command = parse(["transcribe", spelling, "Tesla", "talk.mp3"])
    assert isinstance(command, Transcribe)
    assert (command.files, command.options.initial_prompt) == (("talk.mp3",), "Tesla")


@pytest.mark.parametrize("name", ["-", "a b.wav", "a'b.wav", "$(touch x).wav", "x;y.wav", "http:x.wav", "名.wav"])
def test_file_names_are_taken_as_they_are(name: str) -> None:
    """B114: no shell, no protocol, no option."""
    assert parse(["transcribe", name, "--task", "translate"]).files == (name,)  # type: ignore[attr-defined]
    assert parse(["transcribe", "--", "-i.wav", name]).files == ("-i.wav", name)  # type: ignore[attr-defined]
