"""The bytes of a model file, mapped into memory: one file, or one file cut into several parts.

Every read is checked against the real length, so a damaged header can neither read past the end nor make us
allocate more than the file holds.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.errors import CheckpointError

BFLOAT16 = "bfloat16"
"""Name of the one type of stored numbers that NumPy does not have; it is widened to float32."""


class FileBytes:
    """Read-only bytes of one file, given as the parts it was cut into (usually one).

    Args:
        paths: the parts, in order.

    Attributes:
        source: the files' names, for messages.
        folders: where the parts lie, without repetition; files beside the weights are looked for there.
        size: number of bytes of all parts together.

    Raises:
        CheckpointError: a part does not exist, cannot be read or is empty.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.source = " + ".join(map(str, paths))
        self.folders = tuple(dict.fromkeys(path.parent for path in paths))
        self._parts = [_map(path) for path in paths]
        self.size = sum(map(len, self._parts))

    def view(self, offset: int, size: int) -> memoryview:
        """`size` bytes from `offset` on, without a copy unless they cross from one part to the next."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise CheckpointError(
                f"{self.source} holds {self.size} bytes, but its header asks for {size} at {offset}: "
                "the file is cut short or damaged, fetch it again"
            )
        pieces = []
        for part in self._parts:
            piece = part[max(offset, 0) : max(offset + size, 0)]
            offset -= len(part)
            if len(piece):
                pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))

    def array(self, dtype: str, shape: Sequence[int], offset: int) -> npt.NDArray[Any]:
        """The array of that little-endian type and shape stored at `offset`; bfloat16 comes as float32."""
        data = self.view(offset, math.prod(shape) * item_size(dtype))
        return self.shaped(decode(dtype, data), shape)

    def shaped(self, flat: npt.NDArray[Any], shape: Sequence[int]) -> npt.NDArray[Any]:
        """A view of `flat` in a shape that the file gives, which NumPy may refuse even where sizes match."""
        try:
            return flat.reshape(shape)
        except ValueError as error:
            raise CheckpointError(f"{self.source} has a tensor of impossible shape: {error}") from error


class Cursor:
    """Reads values one after another from `data`, starting at `offset`."""

    def __init__(self, data: FileBytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    def unpack(self, layout: str) -> tuple[Any, ...]:
        """The next values, little-endian, packed as `struct` describes by `layout`."""
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout)))

    def number(self, layout: str) -> int:
        """The next whole number, of the type that `struct` calls `layout`."""
        return int(self.unpack(layout)[0])

    def take(self, size: int) -> memoryview:
        """The next `size` bytes."""
        taken = self.data.view(self.offset, size)
        self.offset += size
        return taken

    @property
    def at_end(self) -> bool:
        """Whether everything has been read."""
        return self.offset >= self.data.size


def item_size(dtype: str) -> int:
    """Bytes of one stored number."""
    return 2 if dtype == BFLOAT16 else np.dtype(dtype).itemsize


def decode(dtype: str, data: memoryview | bytes) -> npt.NDArray[Any]:
    """A flat, read-only view of `data` as little-endian numbers; bfloat16 is widened exactly to float32."""
    if dtype == BFLOAT16:
        upper = np.frombuffer(data, "<u2").astype(np.uint32)
        return (upper << np.uint32(16)).view(np.float32)
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<"))


def _map(path: Path) -> memoryview:
    try:
        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise CheckpointError(f"cannot read {path} as a model file: {error}") from error
