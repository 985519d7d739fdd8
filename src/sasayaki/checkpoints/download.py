"""The Hugging Face hub and its local cache: find a snapshot, download one, replace a damaged file.

huggingface_hub writes to temporary names, locks, and renames; this file decides what to fetch and turns its
errors into ours. Environment variables are read at each call; huggingface_hub is imported only when needed.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from sasayaki.checkpoints.files import find_weights, user_cache
from sasayaki.errors import CheckpointError, ModelNotFoundError

# "model-*": large-v3 and the distilled models also have a second copy, model.fp32-*, which nobody needs.
PATTERNS = (
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocabulary.json",
    "vocabulary.txt",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-*-of-*.safetensors",
    "model.bin",
)
_TRUE = {"1", "ON", "YES", "TRUE"}


@dataclass(frozen=True, slots=True)
class Hub:
    """The hub as this call may use it.

    Attributes:
        cache: folder of huggingface_hub's cache.
        offline: why the hub must not be asked, or an empty string when it may.
        show_progress: whether huggingface_hub shows its progress bars on stderr.
    """

    cache: Path
    offline: str = ""
    show_progress: bool = False

    @classmethod
    def from_environment(
        cls,
        cache_dir: str | os.PathLike[str] | None = None,
        *,
        local_files_only: bool = False,
        show_progress: bool = False,
    ) -> Hub:
        """The hub with HF_HUB_CACHE, HF_HOME and HF_HUB_OFFLINE honoured; arguments go before them."""
        offline = "local_files_only is set" if local_files_only else ""
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in _TRUE:
            offline = "HF_HUB_OFFLINE is set"
        return cls(Path(cache_dir).expanduser() if cache_dir else _default_cache(), offline, show_progress)

    def cached(self, repo: str) -> Path:
        """Folder of the cached snapshot of `repo`, which has a configuration and all its weights.

        The small files that the repository is known to have must be there too, unless the hub must not be asked
        for them.

        Raises:
            ModelNotFoundError: there is none; the hub is not asked.
        """
        patterns = ["config.json"] if self.offline else list(PATTERNS)
        missing = ModelNotFoundError(f"the Hugging Face cache {self.cache} has no complete {repo}")
        if not (self.cache / f"models--{repo.replace('/', '--')}").is_dir():
            raise missing
        try:
            folder = self._snapshot(repo, local_files_only=True, allow_patterns=patterns)
        except (OSError, ValueError) as error:
            raise missing from error
        if not _is_complete(folder):
            raise missing
        return folder

    def cached_repositories(self) -> list[str]:
        """Hub ids of all models in the cache, whatever kind of model they are."""
        folders = sorted(self.cache.glob("models--*--*"))
        return [folder.name.removeprefix("models--").replace("--", "/") for folder in folders]

    def download(self, repo: str) -> Path:
        """Download what is needed of `repo` into the cache and return its snapshot folder.

        Raises:
            ModelNotFoundError: the hub may not be asked, cannot be reached, or has no such model.
        """
        if self.offline:
            raise ModelNotFoundError(f"the hub was not asked for {repo}: {self.offline}")
        try:
            folder = self._snapshot(repo, allow_patterns=list(PATTERNS))
            available = [] if _is_complete(folder) else self._list_files(repo)
        except Exception as error:  # its HTTP library, and so the class of a network error, differs by version
            raise ModelNotFoundError(f"{repo} could not be downloaded: {_reason(error)}") from error
        if available:
            raise ModelNotFoundError(
                f"{repo} on the hub has no config.json with model.safetensors (or shards and index) or with "
                f"CTranslate2's model.bin; it has {', '.join(available[:10])}"
            )
        return folder

    def replace(self, repo: str, path: Path) -> None:
        """Download one file of a cached snapshot again; the old file stays until the new one is complete.

        Raises:
            ModelNotFoundError: the hub may not be asked or did not give the file.
        """
        if self.offline:
            raise ModelNotFoundError(f"the hub was not asked: {self.offline}")
        stored = path.resolve()
        try:
            # A cache of its own: huggingface_hub takes what is in the cache for good, some versions even if forced.
            with tempfile.TemporaryDirectory(dir=stored.parent) as empty:
                hub = replace(self, cache=Path(empty))
                folder = hub._snapshot(repo, revision=path.parent.name, allow_patterns=[path.name])
                os.replace((folder / path.name).resolve(), stored)
        except Exception as error:  # as in download
            raise ModelNotFoundError(_reason(error)) from error

    def _snapshot(self, repo: str, **options: Any) -> Path:
        from huggingface_hub import snapshot_download
        from huggingface_hub.utils import tqdm

        class NoBars(tqdm):  # type: ignore[misc]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **{**kwargs, "disable": True})

        if not self.show_progress:
            options["tqdm_class"] = NoBars
        return Path(snapshot_download(repo, cache_dir=self.cache, endpoint=_endpoint(), **options))

    def _list_files(self, repo: str) -> list[str]:
        from huggingface_hub import HfApi

        return list(HfApi(endpoint=_endpoint()).list_repo_files(repo)) or ["nothing"]


def hub_digest(path: Path) -> str | None:
    """Digest that the hub gave for a cached file: sha256 (64 digits), or sha1 (40 digits) for a small file.

    The cache stores a file under its digest and links to it; where links cannot be made it is unknown.
    """
    # One step only: the store may itself be a link to one under another kind of digest.
    name = os.path.basename(os.readlink(path)) if path.is_symlink() else ""
    return name if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name) else None


def needed_files(folder: Path) -> list[Path]:
    """Files of a snapshot that a model is read from: the weights that count, and their companions."""
    weights = find_weights(folder)
    companions = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in {".json", ".txt"} and any(fnmatch(path.name, pattern) for pattern in PATTERNS)
    ]
    return [*companions, *weights]


def _is_complete(snapshot: Path) -> bool:
    try:
        find_weights(snapshot)
    except CheckpointError:
        return False
    return (snapshot / "config.json").is_file()


def _default_cache() -> Path:
    explicit = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    home = os.environ.get("HF_HOME") or os.path.join(user_cache(), "huggingface")
    return Path(os.path.expanduser(os.path.expandvars(explicit or os.path.join(home, "hub"))))


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _reason(error: BaseException) -> str:
    """One line that says why the hub did not give a file."""
    from huggingface_hub.utils import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError

    if isinstance(error, LocalEntryNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, GatedRepoError):
        return "access to it must be asked for on its page; then log in with `hf auth login`"
    if isinstance(error, RepositoryNotFoundError):
        return "the hub has no such model, or it is private (log in with `hf auth login`)"
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"
