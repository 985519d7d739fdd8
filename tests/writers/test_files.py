"""Files are written whole or not at all, and checked before the work is done."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sasayaki.errors import OutputError
from sasayaki.writers import FORMATS, check_target, prepare_folder, write, write_text
from tests.writers.transcriptions import make_segment, make_transcription

# é in two bytes, cut by a timestamp and carried as lone surrogates; a lone half of an emoji; a whole emoji.
TORN = make_transcription(
    make_segment(0, 1, " caf\udcc3"), make_segment(1, 2, "\udca9 \ud83d x"), make_segment(2, 3, " \U0001f600")
)


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_valid_utf8_whatever_the_text(tmp_path: Path, name: str) -> None:
    """B118: bytes that are no character become U+FFFD, never raw bytes."""
    path = tmp_path / f"talk.{FORMATS[name].ending}"
    write(TORN, path)
    content = path.read_bytes().decode("utf-8")
    assert "caf\ufffd" in content
    assert "\ufffd x" in content.replace(",\n0,1.600,2.000,", " ")  # a row of its own in csv
    assert "\U0001f600" in content
    if name == "json":
        assert len(json.loads(content)["segments"]) == 3


def test_the_ending_chooses_the_format(tmp_path: Path) -> None:
    write(TORN, tmp_path / "a.b.VTT")
    assert (tmp_path / "a.b.VTT").read_text("utf-8").startswith("WEBVTT")
    write(TORN, tmp_path / "a.labels.txt")
    assert (tmp_path / "a.labels.txt").read_text("utf-8").startswith("0.000000\t1.000000\t")
    with pytest.raises(OutputError, match=r"\.srt, \.vtt.*got 'a.doc'"):
        write(TORN, tmp_path / "a.doc")
    with pytest.raises(OutputError, match="must end with one of"):
        write(TORN, str(tmp_path / "nothing"))
    assert set(os.listdir(tmp_path)) == {"a.b.VTT", "a.labels.txt"}


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("old and longer than the new one")
    write_text(path, "new\n")
    assert path.read_text() == "new\n"
    assert os.listdir(tmp_path) == ["talk.txt"]


def test_new_files_have_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "written", "")
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interruption_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    """B162: nobody finds half a file."""
    path = tmp_path / "talk.json"
    path.write_text("old")

    def refuse(*_: object) -> None:
        raise interruption

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises((KeyboardInterrupt, OutputError)) as caught:
        write(TORN, path)
    assert caught.type is KeyboardInterrupt or "No space left" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["talk.json"]


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    """B162: `--output_dir new/deep/dir`."""
    folder = prepare_folder(tmp_path / "new" / "deep" / "dir")
    assert folder.is_dir()
    assert os.listdir(folder) == []
    assert prepare_folder(folder) == folder


def test_a_folder_that_takes_no_files_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B162: a read-only folder is found before the work is done; the superuser may write anywhere."""

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(OutputError, match=r"cannot write into the folder .*: Permission denied"):
        prepare_folder(tmp_path)


@pytest.mark.parametrize("inside", ["", "deeper", "deeper/still"])
def test_a_file_is_no_folder(tmp_path: Path, inside: str) -> None:
    """B162: `--output_dir` that is, or lies under, a file."""
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OutputError, match="it is a file, not a folder"):
        prepare_folder(file / inside)


def test_a_target_that_cannot_be_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "talk.srt").mkdir()
    with pytest.raises(OutputError, match="there is a folder of that name"):
        check_target(tmp_path / "talk.srt")
    with pytest.raises(OutputError, match="File name too long"):
        check_target(tmp_path / ("x" * 300 + ".srt"))
    check_target(tmp_path / "free.srt")
    with pytest.raises(OutputError, match=r"cannot write .*talk\.srt"):
        write(TORN, tmp_path / "talk.srt")
    with pytest.raises(OutputError, match="null"):
        write(TORN, tmp_path / "a\0.srt")
    assert os.listdir(tmp_path) == ["talk.srt"]
