"""The files of a model on this machine, and which files of a folder hold the weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sasayaki.errors import CheckpointError

Source = Literal["path", "package", "cache", "openai", "hub"]

_SINGLE_FILE_SUFFIXES = (".pt", ".pth", ".bin", ".ggml", ".safetensors")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where the files of one model are.

    Attributes:
        name: canonical model name ("large-v3" for "large"), hub id, or the path that was given.
        source: "path", "package" (installed weight package), "cache" (Hugging Face cache), "openai" (a file
            that openai/whisper downloaded) or "hub" (just downloaded).
        where: package, hub id or path, for messages.
        paths: files that hold the weights: one file, parts to be joined in this order, or safetensors shards.
        folder: folder of the configuration and the vocabulary, for formats that keep them beside the weights.
        sha256: digest of the joined `paths`, or None when it is not known.
    """

    name: str
    source: Source
    where: str
    paths: tuple[Path, ...]
    folder: Path
    sha256: str | None = None

    @property
    def checkpoint(self) -> Path | tuple[Path, ...]:
        """What `read_checkpoint` takes: the folder of a model in shards, otherwise the file or its parts."""
        is_sharded = len(self.paths) > 1 and self.paths[0].suffix == ".safetensors"
        return self.folder if is_sharded else self.paths

    @property
    def identity(self) -> str:
        """Another text whenever one of the files of the weights was changed or exchanged."""
        stats = [(path.resolve(), path.stat()) for path in self.paths]
        return " ".join(f"{path} {s.st_ino} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}" for path, s in stats)

    @property
    def size_bytes(self) -> int:
        """Bytes of the weights on disk."""
        return sum(path.stat().st_size for path in self.paths)


def user_cache() -> Path:
    """The folder for caches of this user: XDG_CACHE_HOME or ~/.cache. A user without a home has /, as in containers."""
    named = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"))
    return Path(os.sep, ".cache") if named.startswith("~") else Path(named)


def find_weights(folder: Path) -> tuple[Path, ...]:
    """Files of `folder` that hold the weights, in the order in which they are to be read.

    Raises:
        CheckpointError: the folder holds no weights, several models, or shards of which some are missing.
    """
    single = folder / "model.safetensors"
    index = folder / "model.safetensors.index.json"
    if single.is_file():
        return (single,)
    if index.is_file():
        return _shards(index)
    if (folder / "model.bin").is_file():
        return (folder / "model.bin",)
    return tuple(_parts(folder)) or (_only_model_file(folder),)


def _shards(index: Path) -> tuple[Path, ...]:
    try:
        names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        shards = tuple(index.parent / name for name in names)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{index} is not an index of safetensors shards: {error!r}") from error
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing or not shards:
        raise CheckpointError(
            f"{index.parent} lacks {', '.join(missing) or 'shards'} named in {index.name}: "
            "copy or download the missing files"
        )
    return shards


def _parts(folder: Path) -> Iterator[Path]:
    number = 1
    while (part := folder / f"model.bin.part{number}").is_file():
        yield part
        number += 1


def _only_model_file(folder: Path) -> Path:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read: {error.strerror}") from error
    files = [name for name in names if name.endswith(_SINGLE_FILE_SUFFIXES) and (folder / name).is_file()]
    if len(files) == 1:
        return folder / files[0]
    if files:
        raise CheckpointError(f"{folder} holds several models: pass the path of one of {', '.join(files)}")
    raise CheckpointError(
        f"{folder} holds no weights: expected model.safetensors (or shards with their index), model.bin or "
        f"one *.pt or ggml file, found {', '.join(names[:10]) or 'nothing'}{' …' if len(names) > 10 else ''}"
    )
