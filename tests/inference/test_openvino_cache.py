"""Tests of compiled graphs kept on disk."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sasayaki.checkpoints.files import ModelFiles, user_cache
from sasayaki.inference import openvino_cache
from sasayaki.inference.base import Row
from sasayaki.inference.openvino_backend import OpenVINOInference
from sasayaki.inference.openvino_cache import GraphStore, default_folder
from tests.models import random_checkpoint

CHECKPOINT = random_checkpoint()


def decode(store: GraphStore | None) -> np.ndarray:
    """Logits of a new engine."""
    inference = OpenVINOInference(CHECKPOINT, precision="float32", threads=1, store=store)
    mel = np.random.default_rng(0).standard_normal((1, CHECKPOINT.dims.n_mels, 2 * CHECKPOINT.dims.n_audio_ctx))
    audio = inference.encode(mel.astype(np.float32))[0]
    return inference.start().forward([Row(audio, (1, 2, 3), read=(0, -1))]).copy()


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(openvino_cache.CompiledGraph, "_compile", fail)


def test_the_second_engine_compiles_nothing_and_gives_the_same_logits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = decode(None)
    store = GraphStore(tmp_path / "new" / "graphs", "weights")
    first = decode(store)
    assert len(list(store.folder.iterdir())) == 4
    forbid_compiling(monkeypatch)
    np.testing.assert_array_equal(decode(store), first)
    np.testing.assert_array_equal(first, plain)


def test_other_weights_have_graphs_of_their_own(tmp_path: Path) -> None:
    decode(GraphStore(tmp_path, "weights"))
    decode(GraphStore(tmp_path, "other weights"))
    assert len(list(tmp_path.iterdir())) == 8


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 5000, None])
def test_a_damaged_graph_is_made_anew(tmp_path: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GraphStore(tmp_path, "weights")
    expected = decode(store)
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    np.testing.assert_array_equal(decode(store), expected)
    forbid_compiling(monkeypatch)
    np.testing.assert_array_equal(decode(store), expected)


def test_graphs_that_openvino_refuses_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def import_model(self, *_: object) -> None:
            raise RuntimeError("made by another version")

    store = GraphStore(tmp_path, "weights")
    decode(store)
    for path in tmp_path.iterdir():
        path.replace(store._path("encoder", {}))
    monkeypatch.setattr(openvino_cache, "core", Refusing)
    assert store.load("encoder", {}) is None


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    np.testing.assert_array_equal(decode(GraphStore(tmp_path / "file" / "graphs", "weights")), decode(None))
    assert "cannot keep the compiled encoder" in caplog.text
    assert len(caplog.records) == 1, "one folder is one warning"


def test_a_graph_that_openvino_cannot_export_is_not_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Compiled:
        def export_model(self) -> None:
            raise RuntimeError("no space for a copy")

    GraphStore(tmp_path, "weights").save("encoder", {}, Compiled())
    assert list(tmp_path.iterdir()) == []
    assert "no space for a copy" in caplog.text


def test_a_folder_of_another_user_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("not yours")

    tmp_path.chmod(0o755)
    expected = decode(GraphStore(tmp_path, "weights"))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}
    monkeypatch.setattr(Path, "touch", refuse)
    forbid_compiling(monkeypatch)
    np.testing.assert_array_equal(decode(GraphStore(tmp_path, "weights")), expected)


def test_engines_that_start_at_once_share_a_folder(tmp_path: Path) -> None:
    expected = decode(None)
    found: list[np.ndarray] = []
    store = GraphStore(tmp_path, "weights")
    threads = [threading.Thread(target=lambda: found.append(decode(store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all((logits == expected).all() for logits in found)
    assert [path.suffix for path in tmp_path.iterdir()] == [".graph"] * 4


def test_graphs_that_were_not_used_for_the_longest_time_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in range(5):
        path = tmp_path / f"{age}.graph"
        path.write_bytes(bytes(100))
        os.utime(path, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(openvino_cache, "_MAX_BYTES", 250)
    openvino_cache._forget_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.graph", "1.graph"]


def test_what_a_crash_left_unfinished_goes_after_a_day(tmp_path: Path) -> None:
    for name, age in (("1-x.graph.part", 90000), ("2-x.graph.part", 60), ("other.part", 90000), ("a.graph", 90000)):
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    openvino_cache._forget_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2-x.graph.part", "a.graph", "other.part"]


def test_graphs_that_another_process_deletes_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.graph").write_bytes(b"x")
    monkeypatch.setattr(Path, "glob", lambda folder, _: iter([folder / "gone.graph", folder / "a.graph"]))
    assert [path.name for _, _, path in openvino_cache._files(tmp_path)] == ["a.graph"]


def test_the_folder_is_the_users_cache_or_what_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SASAYAKI_GRAPHS", raising=False)
    assert default_folder() == tmp_path / "sasayaki" / "graphs"
    monkeypatch.setenv("SASAYAKI_GRAPHS", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"
    monkeypatch.setenv("SASAYAKI_GRAPHS", "off")
    assert default_folder() is None


def test_a_user_without_a_home_has_a_cache_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert user_cache() == Path("/.cache")


def test_weights_that_are_exchanged_have_another_identity(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"one")
    files = ModelFiles("m", "path", "here", (path,), tmp_path)
    before, stat = files.identity, path.stat()
    assert files.identity == before
    replacement = tmp_path / "new"
    replacement.write_bytes(b"two")
    os.utime(replacement, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    replacement.replace(path)
    assert files.identity != before
