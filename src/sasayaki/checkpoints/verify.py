"""Checks model files against known digests, and remembers which files were found good.

A file is read for this once: an empty marker in our cache folder stands for "these bytes were good". Its name
covers path, size, times and digest: a changed file is read again. Where no marker can be written, each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sasayaki.checkpoints.files import user_cache

_CHUNK_BYTES = 1 << 20


def find_damage(paths: Sequence[Path], digest: str) -> str | None:
    """What is wrong with the joined bytes of `paths`, as words for a message, or None when they are good.

    Args:
        paths: one file, or parts in order.
        digest: 64 hexadecimal digits are a sha256; 40 are git's blob sha1, which the hub gives for small
            files, or the plain sha1, which some mirrors of the hub give.
    """
    names = " + ".join(map(str, paths))
    try:
        marker = _marker(paths, digest)
        # os.path.exists is False, not an error, where the folder may not be read.
        if os.path.exists(marker):
            return None
        found = _digests(paths, digest)
    except OSError as error:
        return f"{names} cannot be read: {error.strerror}"
    if digest not in found:
        kind = "sha256" if len(digest) == 64 else "sha1"
        return f"{names} is damaged: expected {kind} {digest}, got {found[0]}"
    _remember(marker)
    return None


def _digests(paths: Sequence[Path], digest: str) -> list[str]:
    if len(digest) == 64:
        hashes = [hashlib.sha256()]
    else:
        size = sum(path.stat().st_size for path in paths)
        hashes = [hashlib.sha1(b"blob %d\0" % size), hashlib.sha1()]
    for chunk in _chunks(paths):
        for state in hashes:
            state.update(chunk)
    return [state.hexdigest() for state in hashes]


def _chunks(paths: Sequence[Path]) -> Iterator[bytes]:
    for path in paths:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk


def _marker(paths: Sequence[Path], digest: str) -> Path:
    facts = [digest]
    for path in paths:
        stat = path.stat()
        facts.append(f"{path.resolve()}\n{stat.st_size}\n{stat.st_mtime_ns}\n{stat.st_ctime_ns}")
    key = hashlib.sha256("\n".join(facts).encode("utf-8", "surrogateescape")).hexdigest()
    return user_cache() / "sasayaki" / "verified" / key


def _remember(marker: Path) -> None:
    with contextlib.suppress(OSError):
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.touch()
