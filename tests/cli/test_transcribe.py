"""`sasayaki transcribe`, with a fake model."""

from __future__ import annotations

import inspect
import io
import json
import os
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sasayaki.cli.loading import ModelOptions
from sasayaki.cli.main import main, parse
from sasayaki.cli.transcribe import Transcribe
from sasayaki.grammar import Grammar
from sasayaki.options import TranscribeOptions, WriterOptions
from sasayaki.results import Segment
from sasayaki.transcribe.stream import SegmentStream
from sasayaki.writers import FORMATS, Output
from tests.cli.fake_model import SEGMENTS, FakeModel, running, segment
from tests.scripted_model import make_model, tone, wav

Recording = Callable[..., str]

LINES = "[00:00.000 --> 00:04.500]  Hello there.\n[00:04.500 --> 00:11.000]  General words.\n"

ENDINGS = tuple(each.ending for each in FORMATS.values())


def files_in(folder: str = ".") -> set[str]:
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*") if path.is_file()}


def test_segments_are_printed_and_no_file_is_written(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["transcribe", recording()]) == 0
    assert capsys.readouterr() == (LINES, "talk.mp3: language en\n")
    assert files_in() == {"talk.mp3"}


def test_segments_are_printed_as_they_come(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []

    def segments() -> Iterator[Segment]:
        for each in SEGMENTS:
            yield each
            printed.append(capsys.readouterr().out)

    monkeypatch.setattr(model, "stream", lambda *_, **__: running(segments()))
    assert main(["transcribe", recording()]) == 0
    assert printed == LINES.splitlines(keepends=True)


@pytest.mark.parametrize("text", [" two\nlines", " two\r\n\r\nlines\n"])
def test_a_segment_is_printed_on_one_line(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    model.segments = (segment(0, 1, text),)
    main(["transcribe", recording()])
    assert capsys.readouterr().out.count("\n") == 1


def test_a_terminal_that_lacks_a_character_shows_another(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.segments = (segment(0, 1, " für 日本"),)
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["transcribe", recording()]) == 0
    assert raw.getvalue().endswith(b"f?r ??\n")


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (["-f", "srt"], {"talk.srt"}),
        (["--output_format", "SRT, vtt", "-f", "txt", "-f", "srt"], {"talk.srt", "talk.vtt", "talk.txt"}),
        (["-f", "all"], {f"talk.{each}" for each in ENDINGS}),
        (["-o", "new/deep"], {f"new/deep/talk.{each}" for each in ENDINGS}),
        (["--output_dir", "out", "--output_format", "json"], {"out/talk.json"}),
    ],
)
def test_files_are_written_where_a_format_or_a_folder_is_given(
    model: FakeModel, recording: Recording, arguments: list[str], written: set[str]
) -> None:
    assert main(["transcribe", recording(), *arguments]) == 0
    assert files_in() == {"talk.mp3", *written}


def test_the_json_file_holds_text_language_duration_and_options(model: FakeModel, recording: Recording) -> None:
    main(["transcribe", recording(), "-f", "json", "--beam_size", "2"])
    content = json.loads(Path("talk.json").read_text("utf-8"))
    assert content["text"] == " Hello there. General words."
    assert (content["language"], content["duration"]) == ("en", 11.0)
    assert content["options"]["beam_size"] == 2


def test_existing_files_are_replaced(model: FakeModel, recording: Recording) -> None:
    """B162: an old transcript does not stand in the way."""
    recording("talk.srt", "old")
    assert main(["transcribe", recording(), "-f", "srt"]) == 0
    assert "General words." in Path("talk.srt").read_text()


def test_one_model_serves_all_files(model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transcribe", recording("a.mp3"), recording("b.mp3"), "-f", "txt"]) == 0
    assert model.n_loads == 1
    assert model.heard == ["a.mp3", "b.mp3"]
    assert capsys.readouterr().out == f"a.mp3:\n{LINES}b.mp3:\n{LINES}"


def test_windows_of_several_recordings_are_decoded_side_by_side(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each gives what it would alone; what cannot be read, in front or in the middle, does not stop the others."""
    files = {
        f"{names[0]}.wav": wav(np.concatenate([tone(name, 20) for name in names]))
        for names in (("low", "high"), ("middle",), ("top", "low", "middle"))
    }
    for name, content in files.items():
        Path(name).write_bytes(content)
    recording("broken.wav", "no sound")
    options = ["--batch_size", "4", "--vad", "off", "--language", "en", "-f", "json"]
    alone, model = make_model(), make_model()
    monkeypatch.setattr("sasayaki.load_model", lambda *_, **__: alone)
    for name in files:
        assert main(["transcribe", name, *options, "-o", "alone"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("sasayaki.load_model", lambda *_, **__: model)
    low, middle, top = files
    assert main(["transcribe", low, "broken.wav", middle, top, *options, "-o", "together"]) == 2
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if line.endswith(":")] == ["low.wav:", "middle.wav:", "top.wav:"]
    assert [line for line in err.splitlines() if "error" in line] != []
    assert "'broken.wav' cannot be read" in err
    for path in Path("alone").iterdir():
        assert (Path("together") / path.name).read_text() == path.read_text()
    assert len(list(Path("together").iterdir())) == 3
    assert max(len({row.audio.name for row in call.rows}) for call in model.inference.calls) == 4


def test_windows_side_by_side_are_as_many_as_a_batch_has(model: FakeModel, recording: Recording) -> None:
    for size, n_windows in {"1": 1, "6": 6, "auto": 5}.items():
        assert main(["transcribe", recording("a.mp3"), recording("b.mp3"), "--batch_size", size]) == 0
        assert model.n_windows == n_windows


def test_recordings_of_the_same_name_do_not_overwrite_each_other(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["a/talk.mp3", "b/talk.mp3", "talk-2.mp3", "c/Talk.ogg"]
    assert main(["transcribe", *map(recording, names), "-f", "txt", "--verbose", "False"]) == 0
    assert files_in() - set(names) == {"talk.txt", "talk-2.txt", "talk-3.txt", "Talk-4.txt"}
    notes = capsys.readouterr().err.splitlines()
    assert notes == [
        "b/talk.mp3: its files are called talk-3.*, as another recording has the same name",
        "c/Talk.ogg: its files are called Talk-4.*, as another recording has the same name",
    ]


@pytest.mark.parametrize("name", ["bell\x07.mp3", "\x1b[31mred.mp3", "\r\x1b[2Kx.mp3", "tab\t.mp3", "two\nlines.mp3"])
def test_a_name_or_text_that_would_steer_the_terminal_is_escaped(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    model.segments = (segment(0, 1, f" {name}"),)
    assert main(["transcribe", recording(name), "no\x1bne.mp3", "-f", "txt"]) == 2
    said = capsys.readouterr()
    assert all(character.isprintable() or character == "\n" for character in said.out + said.err)
    assert said.out.count("\n") == 2


def test_a_name_as_long_as_the_file_system_allows_has_its_files(model: FakeModel, recording: Recording) -> None:
    for name in ("é" * 125, "x" * 251):
        assert main(["transcribe", recording(f"{name}.mp3"), "-f", "srt", "--resume", "-q"]) == 0
        assert Path(f"{name}.srt").exists()
    assert not list(Path().glob(".*"))


def test_a_recording_is_not_written_over(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("link.srt").symlink_to(recording("talk.srt"))
    for name in ("talk.srt", "link.srt", "./talk.srt"):
        assert main(["transcribe", name, "-f", "srt", "-q"]) == 2
        assert "is the recording and would be written over; choose another output_dir" in capsys.readouterr().err
    assert Path("talk.srt").read_text() == "sound"
    assert main(["transcribe", "talk.srt", "-f", "srt", "-o", "out", "-q"]) == 0


def test_files_beside_a_recording_do_not_take_its_name(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sasayaki transcribe talks/* -f json` once more, by pattern or by the shell."""
    names = [recording(f"talks/a.{each}") for each in ("ass", "json", "mp3", "paragraphs.txt")]
    assert main(["transcribe", "talks/*", "-f", "srt", "-q"]) == 0
    assert model.heard == ["talks/a.mp3"]
    assert files_in() - set(names) == {"a.srt"}
    assert main(["transcribe", *names, "-f", "srt", "-o", "out", "-q"]) == 0
    assert "talks/a.mp3: its files are called" not in capsys.readouterr().err


def test_names_that_differ_in_how_accents_are_composed_are_the_same(model: FakeModel, recording: Recording) -> None:
    files = [recording("caf\u00e9.mp3"), recording("cafe\u0301.ogg")]
    assert main(["transcribe", *files, "-f", "txt", "-q"]) == 0
    assert files_in() - set(files) == {"caf\u00e9.txt", "cafe\u0301-2.txt"}


def test_standard_input_is_read_once(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["transcribe", "-", recording(), "-"]) == 2
    assert "standard input can be read once" in capsys.readouterr().err
    assert model.n_loads == 0


def test_a_comma_at_the_end_of_formats_is_no_format(model: FakeModel, recording: Recording) -> None:
    assert main(["transcribe", recording(), "-f", "srt,txt,"]) == 0
    assert files_in() == {"talk.mp3", "talk.srt", "talk.txt"}


def test_standard_input_is_a_recording(model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """B162: input `-`."""
    recording()
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"sound")))
    assert main(["transcribe", "-", "-f", "txt", "--language", "yue"]) == 0
    assert model.heard == [b"sound"]
    assert model.options[0].language == "yue"
    assert Path("stdin.txt").exists()


@pytest.mark.parametrize(
    ("verbose", "has_text", "has_bar"), [("True", True, True), ("False", False, True), ("None", False, False)]
)
def test_verbose_chooses_text_and_progress_bar(
    model: FakeModel,
    recording: Recording,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verbose: str,
    has_text: bool,
    has_bar: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["transcribe", recording(), "--verbose", verbose, "--language", "en"]) == 0
    said = capsys.readouterr()
    assert said.out == (LINES if has_text else "")
    assert ("100%" in said.err) == has_bar


@pytest.mark.parametrize("name", ["talk.mp3", "[red]x.mp3", "two\nlines.mp3"])
def test_the_progress_bar_shows_times_and_speed_when_asked_for(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["transcribe", recording(name), "--progress", "True", "--verbose", "False"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert name[:5].splitlines()[0] in said.err
    for shown in ("100%", "0:00:00", "left", "x real time"):
        assert shown in said.err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (None, "no such file: talk.mp3; look into {}"),
        ("folder", "expected a recording, got a folder without any: talk.mp3"),
        ("broken", "'talk.mp3' cannot be read as a recording"),
    ],
)
def test_a_bad_file_is_one_line_and_the_others_are_done(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], make: str | None, message: str
) -> None:
    good = recording("good.mp3")
    if make == "folder":
        Path("talk.mp3").mkdir()
    elif make:
        recording("talk.mp3", make)
    assert main(["transcribe", "talk.mp3", good, "-f", "txt", "--language", "en"]) == 2
    said = capsys.readouterr()
    assert said.out == f"good.mp3:\n{LINES}"
    assert said.err == f"sasayaki: error: {message.format(os.getcwd())}\n"
    assert Path("good.txt").exists()


def test_no_model_is_loaded_when_no_file_is_there(model: FakeModel, recording: Recording) -> None:
    assert main(["transcribe", "none.mp3"]) == 2
    assert main(["transcribe"]) == 2
    assert model.n_loads == 0


def test_a_fault_of_the_program_is_one_line_and_the_others_are_done(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [recording("bad.mp3", "crash"), recording("good.mp3"), "none.mp3"]
    assert main(["transcribe", *files, "-f", "txt", "--language", "en"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"sasayaki: error: no such file: none.mp3; look into {os.getcwd()}",
        "sasayaki: error: bad.mp3: unexpected RuntimeError: a fault; of two lines (--debug shows where)",
    ]
    assert Path("good.txt").exists()
    assert not Path("bad.txt").exists()


def test_debug_shows_the_traceback(model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transcribe", recording(content="crash"), "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "code"), [("nonsense", 2), ("crash", 1)])
def test_a_model_that_does_not_load_is_one_line(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], name: str, code: int
) -> None:
    assert main(["transcribe", recording(), recording("b.mp3"), "--model", name]) == code
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "sasayaki: error: unknown model 'nonsense'. Tried: this; that"
        if code == 2
        else "sasayaki: error: unexpected RuntimeError: the engine broke (--debug shows where)"
    )


@pytest.mark.parametrize("folder", ["file", "file/deeper", "a\0b"])
def test_an_unusable_folder_is_found_before_anything_is_loaded(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    """B162: the work is not done first and lost then."""
    recording("file")
    assert main(["transcribe", recording(), "-o", folder]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sasayaki: error: cannot write into ")
    assert (model.n_loads, model.heard) == (0, [])


def test_a_target_that_is_a_folder_stops_only_its_recording(model: FakeModel, recording: Recording) -> None:
    good, bad = recording("good.mp3"), recording()
    Path("talk.srt").mkdir()
    assert main(["transcribe", bad, good, "-f", "srt"]) == 2
    assert model.heard == ["good.mp3"]
    assert Path("good.srt").exists()


def test_an_interruption_ends_with_130_and_leaves_no_file(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    """B162: Ctrl-C in the middle."""
    files = [recording("first.mp3"), recording("second.mp3", "interrupt"), recording("third.mp3")]
    assert main(["transcribe", *files, "-f", "all", "--language", "en"]) == 130
    assert files_in() - set(files) == {f"first.{each}" for each in ENDINGS}
    assert capsys.readouterr().err == "sasayaki: interrupted\n"


def test_a_reader_that_goes_away_is_no_error(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sasayaki transcribe talk.mp3 | head -1`."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Closed())
    assert main(["transcribe", recording(), "--language", "en"]) == 1
    assert capsys.readouterr().err == ""
    sys.stdout.close()


def test_a_warning_is_one_line(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stream(*_: object, **__: object) -> SegmentStream:
        warnings.warn("an English-only model\ntranscribes English", stacklevel=1)
        return running(SEGMENTS, TranscribeOptions(language="en"))

    monkeypatch.setattr(model, "stream", stream)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["transcribe", recording(), "--language", "en"]) == 0
    assert capsys.readouterr().err == "sasayaki: warning: an English-only model; transcribes English\n"


@pytest.mark.parametrize("quiet", [["--quiet"], ["-q"], ["--verbose", "None"]])
def test_quiet_prints_nothing_but_errors(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], quiet: list[str]
) -> None:
    assert main(["transcribe", recording(), "none.mp3", "-f", "txt", *quiet]) == 2
    assert capsys.readouterr() == ("", f"sasayaki: error: no such file: none.mp3; look into {os.getcwd()}\n")
    assert Path("talk.txt").exists()


def test_a_time_limit_holds_for_each_recording(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [recording("slow.mp3", "stopped"), recording("good.mp3")]
    assert main(["transcribe", *files, "-f", "txt", "--time_limit", "5", "--language", "en"]) == 3
    assert model.time_limits == [5, 5]
    assert capsys.readouterr().err == ("sasayaki: error: slow.mp3: the transcription took longer than time_limit=5\n")
    assert files_in() - set(files) == {"good.txt"}


# A value for each option that is not its default.
OPTION_VALUES: dict[str, tuple[str, Any]] = {
    "task": ("translate", "translate"),
    "language": ("yue", "yue"),
    "sample_len": ("50", 50),
    "best_of": ("3", 3),
    "beam_size": ("7", 7),
    "patience": ("2.0", 2.0),
    "length_penalty": ("0.5", 0.5),
    "length_reward": ("0.4", 0.4),
    "beam_stop": ("bound", "bound"),
    "beam_ends": ("top", "top"),
    "beam_lookahead": ("2", 2),
    "beam_groups": ("5", 5),
    "beam_diversity": ("0.3", 0.3),
    "loop_guard": ("False", False),
    "compat": ("True", True),
    "n_best": ("2", 2),
    "phrases": ("Kubernetes=3.0,Dr. Müller=2", {"Kubernetes": 3.0, "Dr. Müller": 2.0}),
    "prefix": ("Well", "Well"),
    "suppress_tokens": ("-1,5", "-1,5"),
    "languages": ("de,English", ("de", "en")),
    "allow_tokens": (r"[\p{Latin}\s]+", r"[\p{Latin}\s]+"),
    "deny_tokens": (r"\d", r"\d"),
    "grammar": ("regex:yes|no", Grammar.regex("yes|no")),
    "suppress_blank": ("False", False),
    "without_timestamps": ("True", True),
    "max_initial_timestamp": ("0", 0.0),
    "fp16": ("False", False),
    "seed": ("4", 4),
    "temperature": ("0.2,0.6", (0.2, 0.6)),
    "compression_ratio_threshold": ("2.0", 2.0),
    "logprob_threshold": ("-2", -2.0),
    "no_speech_threshold": ("0.3", 0.3),
    "condition_on_previous_text": ("False", False),
    "initial_prompt": ("x", "x"),
    "carry_initial_prompt": ("True", True),
    "multilingual": ("True", True),
    "language_detection_threshold": ("0.9", 0.9),
    "language_detection_windows": ("7", 7),
    "clip_timestamps": ("1,2", "1,2"),
    "channels": ("split", "split"),
    "word_timestamps": ("True", True),
    "prepend_punctuations": ("(", "("),
    "append_punctuations": (".", "."),
    "hallucination_silence_threshold": ("2", 2.0),
    "vad": ("energy", "energy"),
    "batch_size": ("4", 4),
    "short_context": ("False", False),
    "coverage_guard": ("False", False),
    "vad_threshold": ("0.7", 0.7),
    "vad_min_speech": ("0.2", 0.2),
    "vad_min_silence": ("1.5", 1.5),
    "vad_padding": ("0.4", 0.4),
}


@pytest.mark.parametrize("name", [each.name for each in fields(TranscribeOptions) if "is_object" not in each.metadata])
def test_every_option_reaches_the_engine(model: FakeModel, recording: Recording, name: str) -> None:
    """B31, B160: an option that the command line takes is not dropped on the way, for any of the files."""
    text, value = OPTION_VALUES[name]
    assert getattr(TranscribeOptions(), name) != value
    assert main(["transcribe", recording("a.mp3"), recording("b.mp3"), f"--{name}", text]) == 0
    assert [getattr(options, name) for options in model.options] == [value, value]


# A value for each option that is not its default, and one that it needs beside it.
WRITER_VALUES: dict[str, tuple[str, Any, list[str]]] = {
    "highlight_words": ("True", True, []),
    "max_line_width": ("20", 20, []),
    "max_line_count": ("2", 2, ["--max_line_width", "30"]),
    "max_words_per_line": ("3", 3, []),
    "captions": ("bbc", "bbc", []),
    "reading_speed": ("12.5", 12.5, ["--captions", "bbc"]),
    "min_cue_duration": ("1.5", 1.5, ["--captions", "bbc"]),
    "max_cue_duration": ("5", 5.0, ["--captions", "bbc"]),
    "min_cue_gap": ("0.1", 0.1, ["--captions", "bbc"]),
    "paragraph_pause": ("0.5", 0.5, []),
}


@pytest.mark.parametrize("name", [each.name for each in fields(WriterOptions)])
def test_every_writer_option_reaches_the_writers(
    model: FakeModel, recording: Recording, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """B133, B160."""
    seen: list[WriterOptions] = []
    open_output = Output.open
    monkeypatch.setattr(Output, "open", lambda path, options: (seen.append(options), open_output(path, options))[1])
    text, value, others = WRITER_VALUES[name]
    assert getattr(WriterOptions(), name) != value
    assert main(["transcribe", recording(), "-f", "srt", f"--{name}", text, *others]) == 0
    assert [getattr(options, name) for options in seen] == [value]


@pytest.mark.parametrize("arguments", [["--captions", "cinema"], ["--reading_speed", "15"], ["--max_line_width", "0"]])
def test_a_writer_option_that_cannot_be_used_is_an_error_before_any_work(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["transcribe", recording(), "-f", "srt", *arguments]) == 2
    assert arguments[0].removeprefix("--") in capsys.readouterr().err
    assert model.n_loads == 0


def test_writer_options_without_files_are_noted(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    """B133: nothing is silently ignored."""
    assert main(["transcribe", recording(), "--language", "en", "--captions", "bbc"]) == 0
    assert capsys.readouterr().err == "options of files have no effect without output_format or output_dir\n"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ([], False),
        (["--captions", "bbc"], True),
        (["--highlight_words", "True"], True),
        (["--max_line_width", "40"], True),
        (["--word_timestamps", "True"], True),
    ],
)
def test_captions_that_divide_segments_have_words_timed(
    model: FakeModel, recording: Recording, arguments: list[str], asked: bool
) -> None:
    assert main(["transcribe", recording(), "-f", "srt", *arguments]) == 0
    assert [options.word_timestamps for options in model.options] == [asked]


def test_captions_are_laid_out_as_asked(model: FakeModel, recording: Recording) -> None:
    assert main(["transcribe", recording(), "-f", "srt", "--max_line_width", "6", "--max-line-count", "1"]) == 0
    assert [line for line in Path("talk.srt").read_text().splitlines() if line[:1].isalpha()] == [
        "Hello",
        "there.",
        "General",
        "words.",
    ]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model", "tiny", "tiny"),
        ("model_dir", "models", "models"),
        ("device", "cpu", "cpu"),
        ("backend", "torch", "torch"),
        ("precision", "float32", "float32"),
        ("threads", "3", 3),
        ("threads", "0", None),
        ("local_files_only", "", True),
    ],
)
def test_every_model_option_reaches_the_loader(
    model: FakeModel, recording: Recording, name: str, text: str, value: object
) -> None:
    """B31, B160: `--threads 0` leaves it to the engine."""
    assert main(["transcribe", recording(), f"--{name}", *filter(None, [text])]) == 0
    assert model.load_arguments[name] == value


def test_defaults_are_those_of_the_python_interface(model: FakeModel, recording: Recording) -> None:
    """B182: nobody compares speed or accuracy of different settings without knowing."""
    assert main(["transcribe", recording()]) == 0
    assert model.options == [TranscribeOptions()]


def test_model_defaults_are_those_of_the_python_interface() -> None:
    """B182: the same for loading; only the model's name has no default in Python."""
    from sasayaki.model import load_model

    defaults = {name: each.default for name, each in inspect.signature(load_model).parameters.items()}
    names = {"model_dir": "download_root"}
    for each in fields(ModelOptions):
        if each.name != "model":
            assert defaults[names.get(each.name, each.name)] == each.default, each.name


@pytest.mark.parametrize(
    ("arguments", "temperatures"),
    [
        ([], (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (["--temperature", "0"], (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        (["--temperature", "0.5"], (0.5, 0.7, 0.9)),
        (["--temperature", "1.5"], (1.5,)),
        (["--temperature", "1e308"], (1e308,)),
        (["--temperature", "0,0.3"], (0.0, 0.3)),
        (["--temperature_increment_on_fallback", "0.5"], (0.0, 0.5, 1.0)),
        (["--temperature_increment_on_fallback", "0.3"], (0.0, 0.3, 0.6, 0.9)),
        (["--temperature_increment_on_fallback", "None"], (0.0,)),
        (["--temperature_increment_on_fallback", "0"], (0.0,)),
        (["--temperature", "0.2", "--temperature_increment_on_fallback", "none"], (0.2,)),
    ],
)
def test_temperatures_are_those_of_openai_whispers_command_line(
    arguments: list[str], temperatures: tuple[float, ...]
) -> None:
    """B159: an increment of 0 is no ladder; a single temperature starts one."""
    command = parse(["transcribe", "talk.mp3", *arguments])
    assert isinstance(command, Transcribe)
    assert command.effective_options().temperatures == temperatures


def test_a_command_line_of_openai_whisper_runs_unchanged(model: FakeModel, recording: Recording) -> None:
    line = (
        "--model tiny --model_dir models --device cpu --output_dir out --output_format srt --verbose False "
        "--task transcribe --language German --temperature 0 --best_of 5 --beam_size 5 --patience 1.0 "
        "--length_penalty 0.5 --suppress_tokens -1 --initial_prompt Tesla --carry_initial_prompt False "
        "--condition_on_previous_text True --fp16 False --temperature_increment_on_fallback 0.2 "
        "--compression_ratio_threshold 2.4 --logprob_threshold -1.0 --no_speech_threshold 0.6 --threads 4 "
        "--clip_timestamps 0 --highlight_words False --max_line_width None --max_line_count None "
        "--max_words_per_line None"
    )
    assert main(["transcribe", recording(), *line.split()]) == 0
    assert os.listdir("out") == ["talk.srt"]
    assert model.options[0].temperatures == TranscribeOptions().temperatures
    assert (model.options[0].language, model.options[0].fp16) == ("German", False)
