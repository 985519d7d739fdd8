"""Reads a model file or folder of any supported format; the format is told from the contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sasayaki.checkpoints.ctranslate2 import is_ctranslate2, read_ctranslate2
from sasayaki.checkpoints.file_bytes import FileBytes
from sasayaki.checkpoints.names import Checkpoint
from sasayaki.errors import CheckpointError


def read_checkpoint(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Checkpoint:
    """Read a Whisper model.

    Args:
        path: a model file, a folder that holds one, or the parts of one file in their order.

    Returns:
        The model in canonical form; weights are views of the files where their type allows.

    Raises:
        CheckpointError: there is no model at `path`, its format is unknown, or it is damaged or incomplete.
    """
    parts = [Path(path)] if isinstance(path, (str, os.PathLike)) else [Path(part) for part in path]
    if len(parts) == 1 and parts[0].is_dir():
        parts = [parts[0] / "model.bin"]
    data = FileBytes(parts)
    if is_ctranslate2(data):
        return read_ctranslate2(data)
    raise CheckpointError(f"{data.source} is no model of a known format")
