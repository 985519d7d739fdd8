"""Reads a model file or folder of any supported format; the contents tell which, never the name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sasayaki.checkpoints.ctranslate2 import is_ctranslate2, read_ctranslate2
from sasayaki.checkpoints.file_bytes import FileBytes
from sasayaki.checkpoints.files import find_weights
from sasayaki.checkpoints.ggml import is_ggml, read_ggml
from sasayaki.checkpoints.huggingface import from_hugging_face
from sasayaki.checkpoints.names import Checkpoint
from sasayaki.checkpoints.openai_pt import from_openai, is_openai
from sasayaki.checkpoints.safetensors import is_safetensors, read_safetensors
from sasayaki.checkpoints.side_files import SideFiles
from sasayaki.checkpoints.torch_file import is_legacy_torch_file, is_torch_file, read_torch_file
from sasayaki.errors import CheckpointError

_EXPECTED = (
    "expected a .pt file of openai/whisper, a Hugging Face folder (config.json with safetensors or "
    "pytorch_model.bin), a CTranslate2 model.bin, or a ggml file of whisper.cpp"
)


def read_checkpoint(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Checkpoint:
    """Read a Whisper model.

    Args:
        path: a model file, a folder that holds one, the parts of one file in their order, or the shards of a
            Hugging Face model. Configuration and vocabulary are looked for beside the weights.

    Returns:
        The model in canonical form; weights are views of the files where their type allows.

    Raises:
        CheckpointError: there is no model at `path`, its format is unknown, or it is damaged or incomplete.
    """
    paths = [Path(path)] if isinstance(path, (str, os.PathLike)) else [Path(part) for part in path]
    if len(paths) == 1 and paths[0].is_dir():
        paths = list(find_weights(paths[0]))
    files = [FileBytes([part]) for part in paths]
    if len(files) > 1 and not all(is_safetensors(file) or is_torch_file(file) for file in files):
        files = [FileBytes(paths)]
    return _read_files(files)


def _read_files(files: Sequence[FileBytes]) -> Checkpoint:
    """Read one model from one file, or from several of which each holds some of the weights."""
    first = files[0]
    if is_ctranslate2(first):
        return read_ctranslate2(first)
    if is_ggml(first):
        return read_ggml(first)
    state: dict[str, npt.NDArray[Any]] = {}
    for file in files:
        saved = _read_state(file)
        if is_openai(saved):
            return from_openai(saved, file.source)
        state |= saved
    folders = tuple(dict.fromkeys(folder for file in files for folder in file.folders))
    return from_hugging_face(state, SideFiles(folders), " + ".join(file.source for file in files))


def _read_state(file: FileBytes) -> dict[str, Any]:
    """What a safetensors or torch.save file holds, by name."""
    if is_safetensors(file):
        return read_safetensors(file)
    if not is_torch_file(file):
        raise CheckpointError(_unknown(file))
    saved = read_torch_file(file)
    if not isinstance(saved, dict):
        raise CheckpointError(f"{file.source} holds a {type(saved).__name__}, expected weights by name")
    return saved


def _unknown(file: FileBytes) -> str:
    if is_legacy_torch_file(file):
        return (
            f"{file.source} was saved in the form before PyTorch 1.6, which cannot be read safely: "
            "load it with torch.load and save it again with torch.save"
        )
    return f"{file.source} begins with {bytes(file.view(0, min(16, file.size)))!r}; {_EXPECTED}"
