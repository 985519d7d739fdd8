"""The places a named model may come from: weight packages, the caches of other libraries, the hub.

Each function takes a canonical name or a hub id and gives files that are not checked yet, or raises
ModelNotFoundError that says why this place has none.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from sasayaki.checkpoints.catalog import OPENAI_SHA256, WEIGHT_PACKAGES, PackagePart, repositories
from sasayaki.checkpoints.download import Hub, hub_digest
from sasayaki.checkpoints.files import ModelFiles, Source, find_weights, user_cache
from sasayaki.errors import ModelNotFoundError


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look on this machine, and the hub.

    Attributes:
        hub: the hub and its cache.
        openai_folder: folder that openai/whisper downloads to.
    """

    hub: Hub
    openai_folder: Path

    @classmethod
    def from_environment(
        cls,
        cache_dir: str | os.PathLike[str] | None = None,
        *,
        local_files_only: bool = False,
        show_progress: bool = False,
    ) -> Places:
        """The usual places; `cache_dir` stands for both caches when it is given."""
        hub = Hub.from_environment(cache_dir, local_files_only=local_files_only, show_progress=show_progress)
        return cls(hub, hub.cache if cache_dir else user_cache() / "whisper")


def in_packages(name: str, places: Places) -> ModelFiles:
    """Weights of an installed package, all parts of it."""
    packages = WEIGHT_PACKAGES.get(name, ())
    missing: list[str] = []
    for package in packages:
        found = [(part, _installed_file(part)) for part in package.parts]
        paths = tuple(path for _, path in found if path is not None)
        if len(paths) == len(found):
            where = " + ".join(part.distribution for part in package.parts)
            return ModelFiles(name, "package", where, paths, paths[package.companion].parent, package.sha256)
        missing += [part.distribution for part, path in found if path is None]
    reason = f"not installed: {', '.join(missing)}" if packages else f"there is none of {name}"
    raise ModelNotFoundError(f"weight packages: {reason}")


def in_cache(name: str, places: Places) -> ModelFiles:
    """The snapshot of any of the model's repositories in the Hugging Face cache."""
    repos = repositories(name)
    for repo in repos:
        try:
            return _snapshot_files(name, "cache", repo, places.hub.cached(repo))
        except ModelNotFoundError:
            continue
    raise ModelNotFoundError(f"Hugging Face cache {places.hub.cache}: no complete {' or '.join(repos)}")


def in_openai_folder(name: str, places: Places) -> ModelFiles:
    """The file that openai/whisper has downloaded."""
    path = places.openai_folder / f"{name}.pt"
    if name not in OPENAI_SHA256 or not path.is_file():
        raise ModelNotFoundError(f"openai/whisper's folder: no {path}")
    return ModelFiles(name, "openai", str(path), (path,), path.parent, OPENAI_SHA256[name])


def from_hub(name: str, places: Places) -> ModelFiles:
    """The model's first repository, downloaded into the Hugging Face cache."""
    repo = repositories(name)[0]
    return _snapshot_files(name, "hub", repo, places.hub.download(repo))


def _installed_file(part: PackagePart) -> Path | None:
    """Path of the file of an installed package, found without running the package's code."""
    package, _, inside = part.file.partition("/")
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    files = [Path(folder, inside) for folder in folders or ()]
    return next((file for file in files if file.is_file()), None)


def _snapshot_files(name: str, source: Source, repo: str, folder: Path) -> ModelFiles:
    weights = find_weights(folder)
    digest = hub_digest(weights[0]) if len(weights) == 1 else None
    sha256 = digest if digest is not None and len(digest) == 64 else None
    return ModelFiles(name, source, repo, weights, folder, sha256)
