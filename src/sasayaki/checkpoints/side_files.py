"""The small files beside the weights: configuration as JSON, alignment heads, suppressed tokens."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sasayaki.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class SideFiles:
    """Files that may lie in any of `folders`; the first that has a file wins."""

    folders: tuple[Path, ...]

    def find(self, name: str) -> Path | None:
        """Path of the file `name`, or None when no folder has it."""
        return next((folder / name for folder in self.folders if (folder / name).is_file()), None)

    def text(self, name: str) -> str | None:
        """Contents of the UTF-8 file `name`, or None when no folder has it."""
        if (path := self.find(name)) is None:
            return None
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise CheckpointError(f"cannot read {path}: {error}; fetch the model again") from error

    def json(self, name: str) -> Any:
        """The value in the JSON file `name`, or None when no folder has it."""
        if (text := self.text(name)) is None:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.find(name)} is not valid JSON: {error}; fetch it again") from error

    def mapping(self, name: str) -> Mapping[str, Any]:
        """The object in the JSON file `name`; empty when no folder has it."""
        value = self.json(name)
        if value is not None and not isinstance(value, dict):
            raise CheckpointError(f"{self.find(name)} holds a {type(value).__name__}, expected an object")
        return value or {}


def alignment_heads(config: Mapping[str, Any], source: str) -> tuple[tuple[int, int], ...] | None:
    """The (layer, head) pairs under "alignment_heads", or None when the configuration has none."""
    value = config.get("alignment_heads")
    if value is None:
        return None
    if not isinstance(value, list) or not all(_are_ints(pair) and len(pair) == 2 for pair in value):
        raise CheckpointError(f"{source}: alignment_heads must be [layer, head] pairs, not {reprlib.repr(value)}")
    return tuple((layer, head) for layer, head in value)


def head_lags(config: Mapping[str, Any], source: str) -> tuple[float, ...] | None:
    """The seconds under "alignment_head_lags", one for each of "alignment_heads"; None when there are none.

    No other software writes them; `scripts/find_alignment_heads.py` prints them for a configuration.
    """
    value = config.get("alignment_head_lags")
    if value is None:
        return None
    n_head = len(alignment_heads(config, source) or ())
    is_list = isinstance(value, list) and all(type(item) in (int, float) and abs(item) < 1 for item in value)
    if not is_list or len(value) != n_head:
        raise CheckpointError(
            f"{source}: alignment_head_lags must be seconds between -1 and 1, one for each of the {n_head} "
            f"alignment_heads, not {reprlib.repr(value)}"
        )
    return tuple(map(float, value))


def token_ids(config: Mapping[str, Any], key: str, source: str) -> tuple[int, ...] | None:
    """The token ids under `key`, sorted, or None when the configuration has none."""
    value = config.get(key)
    if value is None:
        return None
    if not _are_ints(value):
        raise CheckpointError(f"{source}: {key} must be a list of token ids, not {reprlib.repr(value)}")
    return tuple(sorted(set(value)))


def _are_ints(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)
