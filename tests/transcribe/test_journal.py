"""The journal: windows that outlive the process, whatever is left of the file."""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sasayaki import OutputError, StoppedError, TranscribeOptions, Transcription
from sasayaki.audio.samples import WaveformSamples
from sasayaki.model import Whisper
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.journal import Journal, checksum, go_on
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import Place, WindowResult
from tests.fakes import byte_tokenizer, text, ts
from tests.scripted_model import make_model, tone
from tests.transcribe.scripted_decoder import ScriptedDecoder, recording, windows

RECORDING = np.concatenate([tone("low", 30), tone("high", 30), tone("middle", 5)])
WORK = {"recording": 7}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "talk.journal"


def some_windows() -> list[WindowResult]:
    a, b = text(" a"), text(" é")
    spoken = windows((ts(0), *a, ts(12), ts(12), *b), a, (ts(0), *b, ts(8), ts(8), *a), b)
    return list(drive(spoken, assignment().begin()))


def assignment() -> Assignment:
    options = TranscribeOptions(initial_prompt="x", carry_initial_prompt=True)
    return Assignment(9000, options, byte_tokenizer(), n_text_ctx=448)


def drive(spoken: Any, place: Place) -> Generator[WindowResult, None, None]:
    return Driver(ScriptedDecoder(spoken), recording(9000)).run(transcribe_recording(assignment(), place))


def keep(path: Path, kept: list[WindowResult]) -> None:
    journal = Journal(path, WORK)
    for window in kept:
        journal.append(window)
    journal.close()


def read(path: Path, work: dict[str, Any] = WORK) -> list[WindowResult]:
    journal = Journal(path, work)
    journal.close()
    return journal.windows


def same(window: WindowResult) -> str:
    """Equality in which NaN equals NaN."""
    return repr(window)


def test_windows_are_read_back_as_they_were(path: Path) -> None:
    written = some_windows()
    assert len(written) > 3
    keep(path, written)
    assert [same(window) for window in read(path)] == [same(window) for window in written]


def test_what_is_left_of_a_line_is_cut_off(path: Path) -> None:
    """Whatever a kill leaves, at any byte, the whole windows are there and the next one follows them."""
    written = some_windows()
    keep(path, written)
    data = path.read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    for n_bytes in [*range(ends[0] + 1), *range(ends[0], len(data), 97), *ends, *(end - 1 for end in ends)]:
        path.write_bytes(data[:n_bytes])
        n_whole = max(0, sum(end <= n_bytes for end in ends) - 1)
        journal = Journal(path, WORK)
        assert len(journal.windows) == n_whole
        for window in written[n_whole:]:
            journal.append(window)
        journal.close()
        assert path.read_bytes() == data


@pytest.mark.parametrize("damage", [b"\x00" * 50, b"{}\n", b"no json\n", b'{"window": 3}\n', b"\xff\xfe\n", b"[]\n"])
def test_damaged_lines_are_cut_off(path: Path, damage: bytes) -> None:
    written = some_windows()
    keep(path, written)
    whole = path.read_bytes()
    path.write_bytes(whole + damage)
    assert len(read(path)) == len(written)
    assert path.read_bytes() == whole
    path.write_bytes(damage + whole)
    assert read(path) == []


def test_changed_doubled_and_missing_lines_are_cut_off(path: Path) -> None:
    """What can still be read as JSON is not taken for what was written."""
    written = some_windows()
    keep(path, written)
    lines = path.read_bytes().splitlines(keepends=True)
    changed = lines[2].replace(b'" a', b'" b', 1)
    assert changed != lines[2]
    assert json.loads(changed[9:])
    for damaged, n_whole in [
        ([*lines, lines[-1]], len(written)),
        ([*lines[:2], *lines[3:]], 1),
        ([*lines[:2], lines[3], lines[2], *lines[4:]], 1),
        ([*lines[:2], changed, *lines[3:]], 1),
        ([line.replace(b"\n", b"\r\n") for line in lines], 0),
    ]:
        path.write_bytes(b"".join(damaged))
        assert [same(window) for window in read(path)] == [same(window) for window in written[:n_whole]]


def test_other_work_begins_anew(path: Path) -> None:
    keep(path, some_windows())
    assert read(path, {"recording": 8}) == []
    assert read(path) == [], "and the old windows are gone"


def test_a_journal_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="journal"):
        Journal(tmp_path, WORK)
    with pytest.raises(OutputError, match="journal"):
        Journal(tmp_path / "missing" / "file", WORK)


def test_a_window_is_kept_before_it_is_given(path: Path) -> None:
    a = text(" a")
    journal = Journal(path, WORK)
    running = go_on(journal, lambda place: drive(windows(a), place), assignment().begin(), channel=None)
    for number, _ in enumerate(running, start=1):
        assert path.read_bytes().count(b"\n") == number + 1
    journal.close()


def test_recordings_are_told_apart() -> None:
    waveform = np.zeros(2_000_000, np.float32)
    numbers = {checksum(WaveformSamples(waveform)), checksum(WaveformSamples(waveform[1:]))}
    for place in (0, 959_999, 960_000, 1_999_999):
        changed = waveform.copy()
        changed[place] = 1 / 32768
        numbers.add(checksum(WaveformSamples(changed)))
    assert len(numbers) == 6


def interrupted(model: Whisper, path: Path, n_window: int, **options: Any) -> None:
    """A transcription that is cancelled when it asks for one more window."""
    model.inference.encoded.clear()
    with pytest.raises(StoppedError):
        model.transcribe(RECORDING, journal=path, cancel=lambda: len(model.inference.encoded) > n_window, **options)


@pytest.mark.parametrize("n_window", [0, 1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"condition_on_previous_text": False},
        {"initial_prompt": "names", "carry_initial_prompt": True},
        {"clip_timestamps": "40,62,0,35", "temperature": 0.7},
    ],
)
def test_an_interrupted_transcription_goes_on_to_the_same_end(
    path: Path, n_window: int, options: dict[str, Any]
) -> None:
    """What is asked of the engine and what comes out are those of a run without interruption."""
    options = {"language": "en", **options}
    whole, expected = uninterrupted(json.dumps(options))
    first, second = make_model(), make_model()
    interrupted(first, path, n_window, **options)
    kept = json.loads(path.read_text().splitlines()[-1][9:])
    result = second.transcribe(RECORDING, journal=path, **options)
    assert repr(result) == repr(expected)
    assert facts(result) == facts(expected)
    assert len(second.inference.encoded) == len(whole.inference.encoded) - n_window
    n_asked = len(second.inference.calls)
    assert [call.histories for call in second.inference.calls] == [
        call.histories for call in whole.inference.calls[-n_asked:]
    ]
    assert ("place" in kept) == (n_window > 0)


@cache
def uninterrupted(options: str) -> tuple[Whisper, Transcription]:
    """A model that has transcribed the recording with options given as JSON, and what came of it."""
    model = make_model()
    return model, model.transcribe(RECORDING, **json.loads(options))


def facts(result: Transcription) -> str:
    return json.dumps(result.to_dict())


@pytest.mark.parametrize("change", ["language", "model", "audio", "option"])
def test_a_journal_of_another_transcription_is_not_used(path: Path, change: str) -> None:
    interrupted(make_model(), path, 2, language="en")
    model, audio, options = make_model(), RECORDING, {"language": "en", "short_context": False}
    if change == "model":
        model.name = "other"
    elif change == "audio":
        audio = RECORDING * np.float32(0.5)
    else:
        options |= {"language": "de"} if change == "language" else {"beam_size": 2}
    model.transcribe(audio, journal=path, **options)
    assert len(model.inference.encoded) == 3


def test_a_finished_transcription_is_given_again_from_its_journal(path: Path) -> None:
    model = make_model()
    expected = model.transcribe(RECORDING, journal=path, language="en")
    done: list[float] = []
    again = make_model()
    result = again.transcribe(RECORDING, journal=path, language="en", progress=lambda at, _: done.append(at))
    assert facts(result) == facts(expected)
    assert done == [30, 60, 65]
    assert again.inference.calls == []
