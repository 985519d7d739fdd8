"""Recordings by folder, by pattern, from standard input and from URLs."""

from __future__ import annotations

import http.server
import io
import sys
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sasayaki.cli.inputs import expand, is_url, open_input
from sasayaki.cli.main import main
from sasayaki.errors import AudioError, OptionError
from tests.cli.fake_model import FakeModel

Recording = Callable[..., str]


def test_a_folder_stands_for_the_recordings_in_it(model: FakeModel, recording: Recording) -> None:
    names = ["talks/b.MP3", "talks/a.wav", "talks/2024/c.opus", "talks/notes.txt", "talks/cover.jpg", "talks/README"]
    for name in names:
        recording(name)
    assert expand("talks") == ["talks/2024/c.opus", "talks/a.wav", "talks/b.MP3"]
    assert main(["transcribe", "talks", "-f", "txt", "-o", "out"]) == 0
    assert model.heard == ["talks/2024/c.opus", "talks/a.wav", "talks/b.MP3"]
    assert {path.name for path in Path("out").iterdir()} == {"a.txt", "b.txt", "c.txt"}


def test_a_pattern_stands_for_the_files_that_it_matches(model: FakeModel, recording: Recording) -> None:
    for name in ("a.mp3", "b.mp3", "c.wav", "deep/d.mp3", "deep.mp3/x.txt"):
        recording(name)
    assert expand("*.mp3") == ["a.mp3", "b.mp3"]
    assert expand("**/*.mp3") == ["a.mp3", "b.mp3", "deep/d.mp3"]
    assert expand("[ab].mp3") == ["a.mp3", "b.mp3"]
    assert main(["transcribe", "?.*", "--language", "en"]) == 0
    assert model.heard == ["a.mp3", "b.mp3", "c.wav"]


def test_a_file_whose_name_looks_like_a_pattern_is_itself(recording: Recording) -> None:
    recording("a.mp3")
    assert expand(recording("[a].mp3")) == ["[a].mp3"]
    assert expand(recording("what?.mp3")) == ["what?.mp3"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("tlak.mp3", "no such file: tlak.mp3; did you mean talk.mp3?"),
        ("talks/b.wv", "no such file: talks/b.wv; did you mean talks/b.wav?"),
        ("talks/other", "no such file: talks/other; look into talks"),
        ("nowhere/a.mp3", "no such file: nowhere/a.mp3; there is no folder nowhere that can be read"),
        ("link.mp3", "no such file: link.mp3; it is a link to one that is gone"),
        ("", "expected the name of a recording, got an empty one"),
        ("http://[", "expected a URL such as https://example.org/talk.mp3, got http://["),
        ("https://", "expected a URL such as https://example.org/talk.mp3, got https://"),
    ],
)
def test_a_file_that_is_not_there_says_where_to_look(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], file: str, message: str
) -> None:
    recording("talk.mp3")
    recording("talks/b.wav")
    Path("link.mp3").symlink_to("gone.mp3")
    assert main(["transcribe", file, "talk.mp3", "-q"]) == 2
    assert model.heard == ["talk.mp3"]
    assert capsys.readouterr().err == f"sasayaki: error: {message}\n"


@pytest.mark.parametrize("given", ["*.mp3", "empty"])
def test_what_stands_for_nothing_is_an_error_and_the_others_are_done(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    good = recording("good.wav")
    Path("empty").mkdir()
    assert main(["transcribe", given, good, "--quiet"]) == 2
    assert given in capsys.readouterr().err
    assert model.heard == ["good.wav"]


def test_languages_are_detected_of_folders_and_patterns_too(
    model: FakeModel, recording: Recording, capsys: pytest.CaptureFixture[str]
) -> None:
    recording("talks/a.wav")
    assert main(["detect-language", "talks", "talks/*.mp3"]) == 2
    assert [line.split("'")[1] for line in capsys.readouterr().err.splitlines()[1:]] == ["talks/a.wav"]


def test_standard_input_can_be_read_to_and_fro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers that have their index at the end need it."""
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"sound")))
    with open_input("-") as file:
        assert (file.read(), file.seek(0), file.read()) == (b"sound", 0, b"sound")
    assert file.closed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("https://example.org/a.mp3", True),
        ("s3://bucket/a.mp3", True),
        ("a.mp3", False),
        ("C:\\talks\\a.mp3", False),
        ("/talks/a.mp3", False),
        ("file:a.mp3", False),
        ("://a", False),
        ("-", False),
    ],
)
def test_urls_are_told_from_files(name: str, expected: bool) -> None:
    assert is_url(name) == expected


def test_without_the_extra_a_url_names_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(OptionError, match=r"pip install 'sasayaki\[url\]'"), open_input("https://example.org/a.mp3"):
        pass


def test_a_url_of_no_known_kind_is_an_error() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(AudioError, match="nonsense"), open_input("nonsense://a.mp3"):
        pass


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path.startswith("/talk.mp3") else 404)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"sound")

        do_HEAD = do_GET  # noqa: N815 (the name that http.server calls)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_a_url_is_read(model: FakeModel, recording: Recording, server: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("aiohttp")
    recording()
    assert main(["transcribe", f"{server}/talk.mp3?x=1", f"{server}/none.mp3", "-f", "txt", "-q"]) == 2
    assert model.heard == [b"sound"]
    assert Path("talk.txt").exists()
    assert f"{server}/none.mp3" in capsys.readouterr().err
