"""Downloads from a local imitation of the hub: breaks, damage, processes side by side, and what is cached."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sasayaki.checkpoints.resolve import resolve
from sasayaki.errors import CheckpointError, ModelNotFoundError
from tests.checkpoints.fake_hub import COMMIT, FakeHub, digest

REPO = "openai/whisper-small"
WEIGHTS = bytes(range(256)) * 1000
FILES = {
    "config.json": b'{"model_type": "whisper"}',
    "generation_config.json": b"{}",
    "tokenizer.json": b'{"version": "1.0"}',
    "model.safetensors": WEIGHTS,
    "model.fp32-00001-of-00002.safetensors": b"never asked for",
    "pytorch_model.bin": b"never asked for",
    "README.md": b"never asked for",
}


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    with FakeHub(REPO, FILES).serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


def blobs(home: Path, repo: str = REPO) -> Path:
    return home / ".cache/huggingface/hub" / f"models--{repo.replace('/', '--')}" / "blobs"


def cached(home: Path, name: str) -> Path:
    return blobs(home).parent / "snapshots" / COMMIT / name


def flip_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def count(hub: FakeHub, name: str) -> int:
    return sum(request.startswith("GET") and request.endswith("/" + name) for request in hub.requests)


def test_only_the_needed_files_are_downloaded_and_found_in_the_cache_afterwards(
    hub: FakeHub, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = resolve("small")
    assert (files.name, files.source, files.where) == ("small", "hub", REPO)
    assert [path.read_bytes() for path in files.paths] == [WEIGHTS]
    names = sorted(path.name for path in files.folder.iterdir())
    assert names == ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
    assert files.sha256 == digest("model.safetensors", WEIGHTS)
    hub.requests.clear()
    again = resolve("small")
    assert (again.source, again.paths, hub.requests) == ("cache", files.paths, [])
    assert capfd.readouterr() == ("", "")


def test_progress_is_shown_when_asked_for(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda repo, **options: seen.append(options))
    for show_progress in (True, False):
        with pytest.raises(ModelNotFoundError):
            resolve("small", show_progress=show_progress)
    assert ["tqdm_class" in options for options in seen] == [False, True]


def test_a_download_that_breaks_off_once_is_completed(hub: FakeHub) -> None:
    """B170: the server closes after half of the file at the first request."""
    hub.cut["model.safetensors"] = 1
    with contextlib.suppress(ModelNotFoundError):  # huggingface_hub may or may not go on by itself
        resolve("small")
    assert resolve("small").paths[0].read_bytes() == WEIGHTS


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_download_that_fails_leaves_nothing_broken(hub: FakeHub, home: Path, name: str) -> None:
    """B170: no partial file at the final path, and the second load succeeds, whichever file it was."""
    hub.cut[name] = 1000
    with pytest.raises(ModelNotFoundError, match=r"openai/whisper-small could not be downloaded: \w+: "):
        resolve("small")
    assert not cached(home, name).exists()
    assert not (blobs(home) / digest(name, FILES[name])).exists()
    hub.cut.clear()
    files = resolve("small")
    assert files.source == "hub"
    assert (files.folder / name).read_bytes() == FILES[name]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_file_in_the_cache_is_downloaded_once_again(hub: FakeHub, home: Path, name: str) -> None:
    """B170: one flipped byte in a cached file."""
    resolve("small")
    resolve("small")
    flip_byte(cached(home, name))
    hub.requests.clear()
    files = resolve("small")
    assert (files.folder / name).read_bytes() == FILES[name]
    assert count(hub, name) == 1
    assert len(list(blobs(home).iterdir())) == len(list(files.folder.iterdir()))
    hub.requests.clear()
    assert resolve("small") == files
    assert hub.requests == []


def test_a_shortened_file_in_the_cache_is_downloaded_once_again(hub: FakeHub, home: Path) -> None:
    """B170: half a file under the final name, as other tools leave it."""
    resolve("small")
    cached(home, "model.safetensors").write_bytes(WEIGHTS[: len(WEIGHTS) // 2])
    assert resolve("small").paths[0].read_bytes() == WEIGHTS


def test_a_download_that_arrives_damaged_is_repeated_once(hub: FakeHub) -> None:
    """B170: the size is right and a byte is wrong."""
    hub.garbled["model.safetensors"] = 1
    assert resolve("small").paths[0].read_bytes() == WEIGHTS


def test_a_file_that_stays_damaged_is_an_error_with_both_digests(hub: FakeHub) -> None:
    hub.garbled["model.safetensors"] = 1000
    with pytest.raises(CheckpointError, match="what came was damaged too") as error:
        resolve("small")
    assert f"expected sha256 {digest('model.safetensors', WEIGHTS)}, got " in str(error.value)
    assert count(hub, "model.safetensors") == 2
    hub.garbled.clear()
    assert resolve("small").paths[0].read_bytes() == WEIGHTS


def test_a_damaged_file_is_kept_and_reported_when_the_hub_may_not_be_asked(hub: FakeHub, home: Path) -> None:
    resolve("small")
    flip_byte(cached(home, "model.safetensors"))
    with pytest.raises(CheckpointError, match=r"could not be replaced: .*local_files_only is set"):
        resolve("small", local_files_only=True)
    assert cached(home, "model.safetensors").is_file()


def test_a_damaged_file_is_kept_and_reported_when_the_hub_is_not_reached(
    hub: FakeHub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("small")
    flip_byte(cached(home, "model.safetensors"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(CheckpointError, match=r"could not be replaced: Connect"):
        resolve("small")
    assert cached(home, "model.safetensors").is_file()


def test_processes_that_download_at_once_all_succeed(hub: FakeHub, home: Path) -> None:
    """B170: two processes downloading at once."""
    source = "from sasayaki.checkpoints.resolve import resolve; print(len(resolve('small').paths[0].read_bytes()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", source], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == [f"{len(WEIGHTS)}\n"] * 2
    assert not list(blobs(home).glob("*.incomplete"))


def test_a_model_that_lacks_a_small_file_loads_offline_and_is_completed_online(
    hub: FakeHub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve("small")
    cached(home, "tokenizer.json").unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert resolve("small").source == "cache"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert (resolve("small").folder / "tokenizer.json").is_file()


def test_weights_in_shards_are_given_in_order(hub: FakeHub) -> None:
    shards = {f"model-0000{n}-of-00002.safetensors": bytes([n]) * 99 for n in (1, 2)}
    index = b'{"weight_map": {"b": "%s", "a": "%s"}}' % tuple(name.encode() for name in reversed(shards))
    hub.files = {"config.json": b"{}", "model.safetensors.index.json": index, **shards}
    files = resolve(REPO)
    assert [path.name for path in files.paths] == sorted(shards)
    assert files.checkpoint == files.folder


def test_a_repository_of_ctranslate2_is_taken_by_its_hub_id(hub: FakeHub) -> None:
    hub.files = {"config.json": b"{}", "model.bin": b"binary", "vocabulary.txt": b"a\nb\n"}
    files = resolve(REPO)
    assert (files.name, files.where, files.paths[0].name) == (REPO, REPO, "model.bin")
    assert (files.folder / "vocabulary.txt").is_file()


def test_a_repository_without_known_weights_says_what_it_has(hub: FakeHub) -> None:
    hub.files = {"config.json": b"{}", "ggml-small.bin": b"ggml", "pytorch_model.bin": b"pickle"}
    with pytest.raises(ModelNotFoundError, match=r"it has config\.json, ggml-small\.bin, pytorch_model\.bin"):
        resolve(REPO)


def test_a_repository_that_the_hub_does_not_have_is_an_error(hub: FakeHub) -> None:
    with pytest.raises(ModelNotFoundError, match="the hub has no such model, or it is private"):
        resolve("someone/whisper-of-mine")


def test_the_hub_is_not_asked_when_offline(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelNotFoundError, match="HF_HUB_OFFLINE is set"):
        resolve("small")
    assert hub.requests == []


def test_an_unreachable_hub_is_one_error_that_says_what_was_tried(home: Path) -> None:
    with pytest.raises(ModelNotFoundError) as error:
        resolve("tiny")
    lines = str(error.value).splitlines()
    assert lines[0] == "model 'tiny' was not found. Tried:"
    assert [line.split(":")[0] for line in lines[1:4]] == [
        "  - weight packages",
        f"  - Hugging Face cache {home / '.cache/huggingface/hub'}",
        "  - openai/whisper's folder",
    ]
    assert "openai/whisper-tiny could not be downloaded: Connect" in lines[4]
    assert "path" in lines[5]
