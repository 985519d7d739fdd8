"""Reads what torch.save wrote, without PyTorch: a zip archive of a pickle (data.pkl) and the storages.

Tensors become NumPy arrays: views of the memory-mapped file where the entry is stored as it is, which is how
torch.save writes. Only plain data and tensors can come out; no code in the file is ever run.
"""

from __future__ import annotations

import io
import reprlib
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.file_bytes import BFLOAT16, FileBytes, decode, item_size
from sasayaki.checkpoints.plain_pickle import GlobalName, load_plain
from sasayaki.errors import CheckpointError

_STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": BFLOAT16,
    "torch.DoubleStorage": "float64",
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ShortStorage": "int16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
}
_LEGACY_MAGIC = bytes.fromhex("8a0a6cfc9c46f9206aa85019")  # a pickled number, after the pickle's protocol
_ZIP_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, LookupError,
    RuntimeError, OverflowError, MemoryError,
)  # fmt: skip


def is_torch_file(data: FileBytes) -> bool:
    """Whether the file is a zip archive, as torch.save has written since PyTorch 1.6."""
    return data.size >= 4 and bytes(data.view(0, 4)) == b"PK\x03\x04"


def is_legacy_torch_file(data: FileBytes) -> bool:
    """Whether the file was saved in the form before PyTorch 1.6, which only PyTorch reads."""
    return data.size >= 14 and bytes(data.view(2, 12)) == _LEGACY_MAGIC


def read_torch_file(data: FileBytes) -> Any:
    """The saved value: plain Python data in which tensors are NumPy arrays, bfloat16 widened to float32.

    Raises:
        CheckpointError: the file is damaged, no torch.save archive, or asks for more than plain data.
    """
    try:
        with zipfile.ZipFile(_Stream(data)) as archive:
            return _Archive(data, archive).load()
    except _ZIP_FAULTS as error:
        raise CheckpointError(f"{data.source} is a damaged archive ({error!r:.200}); fetch it again") from error


class _Archive:
    """One opened archive: its pickle and its storages, each of which is read once."""

    def __init__(self, data: FileBytes, archive: zipfile.ZipFile) -> None:
        self._data = data
        self._archive = archive
        self._storages: dict[str, npt.NDArray[Any]] = {}
        pickles = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
        if len(pickles) != 1:
            raise CheckpointError(
                f"{data.source} is a zip archive without the one data.pkl that torch.save writes: "
                "expected a model saved by torch.save"
            )
        self._pickle = pickles[0]
        self._folder = pickles[0].removesuffix("data.pkl")
        byte_order = f"{self._folder}byteorder"
        if byte_order in archive.namelist() and archive.read(byte_order) != b"little":
            raise CheckpointError(f"{data.source} was saved on a big-endian machine: save it on another")

    def load(self) -> Any:
        return load_plain(
            self._archive.read(self._pickle),
            self._data.source,
            constructors={
                "collections.OrderedDict": _ordered_dict,
                "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
                "torch._utils._rebuild_parameter": _rebuild_parameter,
            },
            names=_STORAGES,
            load_persistent=self._storage,
        )

    def _storage(self, identity: Any) -> npt.NDArray[Any]:
        """Flat array of a storage, from ("storage", type, key, device, number of values)."""
        match identity:
            case ("storage", GlobalName(name), str(key), str(), int()) if name in _STORAGES:
                if key not in self._storages:
                    self._storages[key] = decode(_STORAGES[name], self._whole_items(key, _STORAGES[name]))
                return self._storages[key]
        raise CheckpointError(f"{self._data.source} refers to {reprlib.repr(identity)}, expected a storage")

    def _whole_items(self, key: str, dtype: str) -> memoryview | bytes:
        info = self._archive.getinfo(f"{self._folder}data/{key}")
        if info.compress_type == zipfile.ZIP_STORED:
            # The local header repeats the name and has an extra field of its own, which aligns the data.
            lengths = struct.unpack("<2H", self._data.view(info.header_offset + 26, 4))
            content = self._data.view(info.header_offset + 30 + sum(lengths), info.file_size)
        else:
            content = memoryview(self._archive.read(info))
        return content[: len(content) - len(content) % item_size(dtype)]


class _Stream(io.RawIOBase):
    """A file object over `FileBytes`, for zipfile."""

    def __init__(self, data: FileBytes) -> None:
        self._data = data
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._data.size}[whence]
        if base + offset < 0:
            raise OSError(f"seek to {base + offset}")
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        left = max(self._data.size - self._position, 0)
        taken = left if size is None or size < 0 else min(size, left)
        piece = bytes(self._data.view(self._position, taken)) if taken else b""
        self._position += taken
        return piece


def _ordered_dict(items: Sequence[Sequence[Any]] = ()) -> dict[Any, Any]:
    result = {}
    for key, value in items:
        if not isinstance(key, (str, int)):
            raise TypeError(f"a key of type {type(key).__name__}")
        result[key] = value
    return result


def _rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> npt.NDArray[Any]:
    """A strided view of a storage; what follows (gradients, hooks) is of no use to us."""
    if not isinstance(storage, np.ndarray) or type(size) is not tuple or type(stride) is not tuple:
        raise TypeError("a tensor without storage, sizes or strides")
    if any(type(number) is not int or number < 0 for number in (offset, *size, *stride)):
        raise ValueError("a tensor with negative sizes")
    if 0 in size:
        return np.empty(size, storage.dtype)
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if last >= storage.size:
        raise ValueError(f"a tensor reaches value {last} of a storage of {storage.size}")
    strides = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, strides, writeable=False)


def _rebuild_parameter(tensor: Any, *_: Any) -> Any:
    return tensor
