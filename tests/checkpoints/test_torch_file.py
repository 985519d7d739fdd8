"""torch.save archives: strange but honest tensors are read, everything that could run code is refused."""

from __future__ import annotations

import collections
import dataclasses
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.checkpoints.file_bytes import FileBytes
from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.checkpoints.torch_file import read_torch_file
from sasayaki.errors import CheckpointError
from tests.checkpoints import writers


def saved(path: Path, value: object, **options: Any) -> Any:
    torch.save(value, path, **options)
    return read_torch_file(FileBytes([path]))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool]
)
def test_strided_shared_and_empty_tensors_are_read(dtype: torch.dtype, protocol: int, tmp_path: Path) -> None:
    base = (torch.arange(60) % 7).to(dtype).reshape(3, 4, 5)
    tensors = {
        "whole": base,
        "transposed": base.permute(2, 0, 1),
        "part": base[1:, ::2, 3],
        "expanded": base[:1, :1, :1].expand(2, 3, 4),
        "scalar": base[2, 1, 0],
        "empty": base[:0],
    }
    read = saved(tmp_path / "f", tensors, pickle_protocol=protocol)
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert np.array_equal(read[name], tensor.numpy()), name
        assert read[name].shape == tuple(tensor.shape)
    assert np.shares_memory(read["whole"], read["part"])


def test_bfloat16_is_widened_exactly(tmp_path: Path) -> None:
    tensor = torch.tensor([1.0, -0.0, 3.14159, 1e-40, 3e38, float("inf")]).bfloat16()
    read = saved(tmp_path / "f", {"x": tensor[1:]})["x"]
    assert read.tobytes() == tensor[1:].float().numpy().tobytes()


def test_parameters_and_plain_data_are_read(tmp_path: Path) -> None:
    module = torch.nn.Linear(3, 2)
    value = {
        "state": module.state_dict(),
        "parameter": module.weight,
        "ordered": collections.OrderedDict(a=1),
        "list": [1, -2, 3**40, 0.5, None, True, False, "é", (), (1,), (1, 2, 3, 4), []],
    }
    read = saved(tmp_path / "f", value)
    assert np.array_equal(read["state"]["weight"], module.weight.detach().numpy())
    assert np.array_equal(read["parameter"], module.weight.detach().numpy())
    assert read["ordered"] == {"a": 1}
    assert read["list"] == value["list"]


def test_compressed_entries_are_read(tmp_path: Path) -> None:
    weights = writers.random_weights("float16")
    path = writers.write_openai(tmp_path / "f", weights, "float16")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "g", "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    read = read_checkpoint(tmp_path / "g").weights
    assert all(np.array_equal(read[name], array) for name, array in weights.items())


def test_known_buffers_are_ignored(tmp_path: Path) -> None:
    weights = writers.random_weights("float32")
    mask = {"decoder.mask": np.zeros((5, 5), np.float32)}
    checkpoint = read_checkpoint(writers.write_openai(tmp_path / "f", weights | mask, "float32"))
    assert checkpoint.weights.keys() == weights.keys()


class Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Evil(os.system, "touch stolen"), r"system"),
        (Evil(eval, "1"), r"(__builtin__|builtins)\.eval"),
        (Evil(getattr, "", "join"), r"getattr"),
        (writers.DIMS, r"ModelDimensions|copy_?reg|reconstructor"),
        (np.zeros(2), r"numpy"),
        (collections.Counter("a"), r"Counter"),
    ],
)
def test_foreign_objects_are_refused_by_name(value: object, name: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=rf"asks for the Python object \S*({name})"):
        saved(tmp_path / "f", {"dims": {}, "model_state_dict": {"x": value}})


def archive(path: Path, program: bytes, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("m/data.pkl", program)
        for name, content in entries.items():
            file.writestr(f"m/{name.replace('__', '/')}", content)
    return path


STORAGE = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n("


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b".",
        b"N",
        b"0.",
        b"\x8ax",
        b"}(K\x01K\x02K\x03u.",  # a dictionary with a key but no value
        b"}K\x01)s.}",  # a well-formed value with rubbish behind it is what the next line is not
        b"})K\x01s.",  # a tuple as a key
        b"K\x01K\x02R.",  # a call of a number
        b"ccollections\nOrderedDict\nK\x01R.",
        b"ctorch\nFloatStorage\n)R.",  # a name that may be mentioned, not called
        b"h\x05.",  # nothing was stored under 5
        b"r\xff\xff\xff\xff.",  # a huge index of the memo must not be a huge list
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes of an impossible length
        b"c__main__\nx\n\x81.",
        b"N\x85" * 10 + b"Q.",
        REBUILD + STORAGE + b"K\x00(K\x05t(K\x01ttR.",  # five values of a storage of four
        REBUILD + STORAGE + b"K\x04(t(ttR.",
        REBUILD + STORAGE + b"K\x00(K\x02t(J\xff\xff\xff\xffttR.",  # a stride of -1
        REBUILD + STORAGE + b"K\x00(K\x02t(ttR.",
        REBUILD + STORAGE + b"K\x00" + (b"(" + b"\x8a\x06\0\0\0\0\0\x01" * 4 + b"t(" + b"K\0" * 4 + b"t") + b"tR.",
    ],
)
def test_damaged_pickles_are_errors(program: bytes, tmp_path: Path) -> None:
    path = archive(tmp_path / "f", program, data__0=bytes(16))
    if program == b"}K\x01)s.}":
        assert read_torch_file(FileBytes([path])) == {1: ()}
        return
    with pytest.raises(CheckpointError):
        read_torch_file(FileBytes([path]))


def test_a_storage_is_read_where_the_program_is_right(tmp_path: Path) -> None:
    content = np.arange(4, dtype=np.float32).tobytes()
    path = archive(tmp_path / "f", REBUILD + STORAGE + b"K\x01(K\x03t(K\x01ttR.", data__0=content)
    assert read_torch_file(FileBytes([path])).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [({"other.txt": b""}, r"without the one data\.pkl"), ({"m/data.pkl": b"N.", "n/data.pkl": b"N."}, "the one")],
)
def test_other_archives_are_named(entries: dict[str, bytes], expected: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "f", "w") as file:
        for name, content in entries.items():
            file.writestr(name, content)
    with pytest.raises(CheckpointError, match=expected):
        read_checkpoint(tmp_path / "f")


@pytest.mark.parametrize("value", [None, 3, [], "text"])
def test_saved_values_that_are_no_model_are_named(value: object, tmp_path: Path) -> None:
    torch.save(value, tmp_path / "f")
    with pytest.raises(CheckpointError, match=f"holds a {type(value).__name__}, expected weights by name"):
        read_checkpoint(tmp_path / "f")


@pytest.mark.parametrize("dims", [None, {}, [[]], {"n_mels": 3}, dataclasses.asdict(writers.DIMS) | {"x": 1}])
def test_senseless_openai_dimensions_are_named(dims: object, tmp_path: Path) -> None:
    torch.save({"dims": dims, "model_state_dict": {}}, tmp_path / "f")
    with pytest.raises(CheckpointError, match="expected whole numbers for n_mels, n_audio_ctx"):
        read_checkpoint(tmp_path / "f")


def test_legacy_files_are_named(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(2)}, tmp_path / "f", _use_new_zipfile_serialization=False)
    with pytest.raises(CheckpointError, match=r"before PyTorch 1\.6"):
        read_checkpoint(tmp_path / "f")


def test_a_bare_pickle_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(CheckpointError, match="begins with"):
        read_checkpoint(tmp_path / "f")
