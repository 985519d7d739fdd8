"""Reads the tensors of a safetensors file in place, through a memory map.

A file is the length of a JSON header (8 bytes), the header, then the data that the header describes.
"""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any

import numpy.typing as npt

from sasayaki.checkpoints.file_bytes import BFLOAT16, FileBytes, item_size
from sasayaki.errors import CheckpointError

_DTYPES = {"F32": "float32", "F16": "float16", "BF16": BFLOAT16, "F64": "float64"}
_DTYPES |= {"I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8", "BOOL": "bool"}


def is_safetensors(data: FileBytes) -> bool:
    """Whether the file begins with the length of a JSON header, and a header."""
    return data.size > 9 and bytes(data.view(8, 1)) == b"{" and _header_size(data) <= data.size - 8


def read_safetensors(data: FileBytes) -> dict[str, npt.NDArray[Any]]:
    """All tensors by name, as read-only views of the file; bfloat16 is widened to float32.

    Raises:
        CheckpointError: the file is damaged or holds tensors of an unknown type.
    """
    size = _header_size(data)
    try:
        header = json.loads(bytes(data.view(8, size)))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{data.source} has a damaged header: {error}; fetch it again") from error
    if not isinstance(header, dict):
        raise CheckpointError(f"{data.source} has a damaged header; fetch it again")
    header.pop("__metadata__", None)
    return {name: _tensor(data, 8 + size, name, entry) for name, entry in header.items()}


def _header_size(data: FileBytes) -> int:
    return int.from_bytes(data.view(0, 8), "little")


def _tensor(data: FileBytes, start: int, name: str, entry: Any) -> npt.NDArray[Any]:
    """The tensor that `entry` of the header describes; `start` is where the data begins."""
    match entry:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(begin), int(end)]} if kind in _DTYPES and all(
            type(size) is int and size >= 0 for size in shape
        ):
            dtype = _DTYPES[kind]
            if begin >= 0 and end - begin == math.prod(shape) * item_size(dtype):
                return data.array(dtype, shape, start + begin)
    raise CheckpointError(
        f"{data.source}: {name:.80} is described as {reprlib.repr(entry)}, "
        f"expected a type of {', '.join(_DTYPES)} and matching shape and offsets"
    )
