"""Finds the files of a model by name, hub id or path, and checks them against the digests that are known."""

from __future__ import annotations

import difflib
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sasayaki.checkpoints import sources
from sasayaki.checkpoints.catalog import ALIASES, EXTRAS, MODEL_NAMES, WEIGHT_PACKAGES, repositories
from sasayaki.checkpoints.download import hub_digest, needed_files
from sasayaki.checkpoints.files import ModelFiles, Source, find_weights
from sasayaki.checkpoints.verify import find_damage
from sasayaki.errors import CheckpointError, ModelNotFoundError

logger = logging.getLogger(__name__)

_MODEL_SUFFIXES = {".pt", ".pth", ".bin", ".ggml", ".gguf", ".safetensors", ".json", ".onnx", ".zip"}
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelListing:
    """What is known here about one model, without asking the network.

    Attributes:
        name: model name, or hub id of another Whisper model in the cache.
        source: where `resolve` would take it from; "hub" means that it would be downloaded.
        where: package, path or hub id.
        size_bytes: bytes of the weights on disk, or None when they are not here.
    """

    name: str
    source: Source
    where: str
    size_bytes: int | None


def resolve(
    name_or_path: str | os.PathLike[str],
    *,
    cache_dir: str | os.PathLike[str] | None = None,
    local_files_only: bool = False,
    show_progress: bool = False,
) -> ModelFiles:
    """Find the files of a model, download them if they are not here, and check them where a digest is known.

    The order is: a path that exists; an installed weight package; the Hugging Face cache; the folder that
    openai/whisper downloads to; the hub. A model name wins over a file or folder of that name, unless it is a
    folder with weights in it.

    Args:
        name_or_path: a name of `MODEL_NAMES`, a hub id such as "openai/whisper-base", a file or a folder.
        cache_dir: folder of the Hugging Face cache, also searched for openai/whisper's `<name>.pt`. By
            default both are where these libraries put them (HF_HUB_CACHE and HF_HOME are honoured).
        local_files_only: never ask the hub. The environment variable HF_HUB_OFFLINE does the same.
        show_progress: show huggingface_hub's progress bars on stderr.

    Raises:
        ModelNotFoundError: the name is unknown, the path does not exist, or no source has the model; the
            message says what was tried.
        CheckpointError: a file is damaged and could not be replaced, or a folder holds no weights.
    """
    path = _existing_path(name_or_path)
    if path is not None:
        weights = find_weights(path) if path.is_dir() else (path,)
        return ModelFiles(str(path), "path", str(path), weights, weights[0].parent)
    name = _canonical_name(name_or_path)
    places = sources.Places.from_environment(cache_dir, local_files_only=local_files_only, show_progress=show_progress)
    tried = []
    for locate in (*_local_sources(name), sources.from_hub):
        try:
            return _checked(locate(name, places), places)
        except ModelNotFoundError as error:
            tried.append(str(error))
    raise ModelNotFoundError(_not_found_message(name, tried))


def list_models(*, cache_dir: str | os.PathLike[str] | None = None) -> tuple[ModelListing, ...]:
    """Every model that can be loaded by name, and other Whisper models in the Hugging Face cache.

    The network is not touched and no file is checked; `resolve` does that.

    Args:
        cache_dir: as in `resolve`.
    """
    places = sources.Places.from_environment(cache_dir, local_files_only=True)
    named = [_listing(name, places) for name in MODEL_NAMES]
    known = {repo for name in MODEL_NAMES for repo in repositories(name)}
    others = [_listing(repo, places) for repo in places.hub.cached_repositories() if repo not in known]
    return (*named, *(it for it in others if it.source == "cache" and "whisper" in it.name.lower()))


def _listing(name: str, places: sources.Places) -> ModelListing:
    canonical = ALIASES.get(name, name)
    for locate in _local_sources(canonical):
        try:
            files = locate(canonical, places)
        except ModelNotFoundError:
            continue
        return ModelListing(name, files.source, files.where, files.size_bytes)
    return ModelListing(name, "hub", repositories(canonical)[0], None)


def _local_sources(name: str) -> tuple[Callable[[str, sources.Places], ModelFiles], ...]:
    if name in MODEL_NAMES:
        return (sources.in_packages, sources.in_cache, sources.in_openai_folder)
    return (sources.in_cache,)


def _existing_path(name_or_path: str | os.PathLike[str]) -> Path | None:
    path = os.path.expanduser(os.fspath(name_or_path))
    # os.path.exists is False, not an error, for names that no file can have; Path("") is the current folder.
    if not path or not os.path.exists(path):
        return None
    if name_or_path in MODEL_NAMES and not _is_model_folder(Path(path)):
        return None
    return Path(path)


def _is_model_folder(path: Path) -> bool:
    try:
        return path.is_dir() and bool(find_weights(path))
    except CheckpointError:
        return False


def _canonical_name(name_or_path: str | os.PathLike[str]) -> str:
    """Canonical name or hub id; raises ModelNotFoundError for what can be neither."""
    text = os.fspath(name_or_path)
    if not isinstance(name_or_path, str) or _looks_like_path(text):
        raise ModelNotFoundError(f"no such file or folder: {text!r} (looked from {os.getcwd()})")
    if text in MODEL_NAMES or _HUB_ID.fullmatch(text):
        return ALIASES.get(text, text)
    similar = difflib.get_close_matches(text.lower().removeprefix("whisper-"), MODEL_NAMES, n=3)
    guess = f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    raise ModelNotFoundError(
        f"unknown model {text!r}.{guess} Expected one of {', '.join(MODEL_NAMES)}; a hub id such as "
        "'openai/whisper-base'; or the path of a model file or folder"
    )


def _looks_like_path(text: str) -> bool:
    return (
        text.startswith((".", "~", "/"))
        or text.endswith("/")
        or text.count("/") > 1
        or "\\" in text
        or text[1:2] == ":"
        or os.path.splitext(text)[1].lower() in _MODEL_SUFFIXES
    )


def _checked(files: ModelFiles, places: sources.Places) -> ModelFiles:
    """The same files after the check; damaged ones of the Hugging Face cache are downloaded once again."""
    if files.source in ("cache", "hub"):
        for path in needed_files(files.folder):
            _repair(path, files.where, places)
        return files
    damage = find_damage(files.paths, files.sha256) if files.sha256 else None
    if damage is None:
        return files
    if files.source == "openai":  # its interrupted downloads leave such files; they are not ours to delete
        logger.warning("%s. It is not used: delete it", damage)
        raise ModelNotFoundError(f"{damage}. Delete it")
    raise CheckpointError(f"{damage}. Install it again: {_install_command(files)}")


def _repair(path: Path, repo: str, places: sources.Places) -> None:
    """Replace a file of a cached snapshot if it is damaged; raises CheckpointError if it stays so."""
    digest = hub_digest(path)
    damage = find_damage((path,), digest) if digest else None
    if digest is None or damage is None:
        return
    logger.warning("%s. Downloading it again", damage)
    try:
        places.hub.replace(repo, path)
        failure = "what came was damaged too"
    except ModelNotFoundError as error:
        failure = str(error)
    damage = find_damage((path,), digest)
    if damage:
        raise CheckpointError(f"{damage}. It could not be replaced: {failure}. Try again, or delete the file")


def _install_command(files: ModelFiles) -> str:
    parts = [
        part.requirement
        for package in WEIGHT_PACKAGES[files.name]
        if package.sha256 == files.sha256
        for part in package.parts
    ]
    return f"pip install --force-reinstall {' '.join(parts)}"


def _not_found_message(name: str, tried: list[str]) -> str:
    lines = [f"model {name!r} was not found. Tried:", *(f"  - {reason}" for reason in tried)]
    if name in EXTRAS:
        lines.append(f'Get it from the package index with: pip install "sasayaki[{EXTRAS[name]}]"')
    return "\n".join([*lines, "Connect to the hub, or pass the path of a model file or folder."])
