"""Reads openai/whisper's own files: a state dict and the dimensions, saved by torch.save."""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Any

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, build_checkpoint
from sasayaki.checkpoints.naming import canonical_names
from sasayaki.errors import CheckpointError

_FIELDS = [field.name for field in dataclasses.fields(ModelDimensions)]


def is_openai(saved: object) -> bool:
    """Whether a saved value has the two parts of openai/whisper's files."""
    return isinstance(saved, dict) and {"dims", "model_state_dict"} <= saved.keys()


def from_openai(saved: dict[str, Any], source: str) -> Checkpoint:
    """The checkpoint in a saved value for which `is_openai` holds.

    The format has no alignment heads, suppressed tokens or vocabulary.

    Raises:
        CheckpointError: dimensions or weights are incomplete.
    """
    dims, state = saved["dims"], saved["model_state_dict"]
    if not isinstance(dims, dict) or set(dims) != set(_FIELDS):
        raise CheckpointError(
            f"{source} has dims {reprlib.repr(dims)}, expected whole numbers for {', '.join(_FIELDS)}"
        )
    return build_checkpoint(ModelDimensions(**dims), canonical_names(state, source), source)
