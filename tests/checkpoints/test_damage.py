"""A file cut short or with changed bytes gives a CheckpointError or a model, and never takes much memory."""

from __future__ import annotations

import json
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.checkpoints.names import check_weights
from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.errors import CheckpointError
from tests.checkpoints import writers
from tests.checkpoints.test_read import FORMATS, write

_MEMORY_LIMIT = 100 << 20


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The weight file of every format, with its side files beside it."""
    paths = {}
    for kind in FORMATS:
        path = write(kind, tmp_path_factory.mktemp(kind), writers.random_weights("float16"), "float16")
        paths[kind] = next(p for p in path.iterdir() if "model." in p.name) if path.is_dir() else path
    return paths


def read_or_refuse(path: Path, content: bytes) -> None:
    damaged = path.with_name("damaged")
    damaged.unlink(missing_ok=True)  # earlier maps keep the earlier file
    damaged.write_bytes(content)
    tracemalloc.start()
    try:
        checkpoint = read_checkpoint(damaged)
        check_weights(checkpoint.dims, checkpoint.weights, "after damage")
    except CheckpointError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < _MEMORY_LIMIT


@pytest.mark.parametrize("shape", [[0, 2**32 - 1, 2**32 - 1, 2**32 - 32], [1] * 70, [0] * 70, [2**70], [-1], [0, -1]])
def test_impossible_shapes_are_refused(shape: list[int], tmp_path: Path) -> None:
    tensor = np.zeros(1 if 0 not in shape else 0, np.float32)
    path = writers.write_safetensors(tmp_path / "f", {"x": tensor}, "float32")
    content = path.read_bytes()[8:].replace(b"[%d]" % tensor.size, json.dumps(shape).encode())
    path.write_bytes(struct.pack("<Q", len(content) - tensor.nbytes) + content)
    with pytest.raises(CheckpointError, match=r"impossible shape|is described as"):
        read_checkpoint(path)
    if len(shape) == 4:
        for kind in (0, 8):
            with pytest.raises(CheckpointError, match="impossible shape"):
                read_checkpoint(write_ggml_tensor(tmp_path / "g", shape, kind))


def write_ggml_tensor(path: Path, shape: list[int], kind: int) -> Path:
    signed = [size - 2**32 if size >= 2**31 else size for size in shape]
    return writers.write_ggml(path, [("x", signed, kind, b"")], kind=2007)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=15, deadline=None)
@given(share=st.floats(0, 0.9999))
def test_files_cut_short_are_refused(kind: str, share: float, whole: dict[str, Path]) -> None:
    content = whole[kind].read_bytes()
    damaged = whole[kind].with_name("cut")
    damaged.unlink(missing_ok=True)
    damaged.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CheckpointError):
        read_checkpoint(damaged)


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_changed_bytes_are_refused_or_read(kind: str, data: st.DataObject, whole: dict[str, Path]) -> None:
    """Most changes fall where the descriptions are: the first and the last 8 KiB."""
    content = bytearray(whole[kind].read_bytes())
    near = st.integers(0, min(8191, len(content) - 1))
    position = near | near.map(lambda p: len(content) - 1 - p) | st.integers(0, len(content) - 1)
    for at, value in data.draw(st.lists(st.tuples(position, st.integers(0, 255)), min_size=1, max_size=4)):
        content[at] = value
    read_or_refuse(whole[kind], bytes(content))


@pytest.mark.parametrize("kind", FORMATS)
def test_every_byte_of_the_header_may_be_damaged(kind: str, whole: dict[str, Path]) -> None:
    content = whole[kind].read_bytes()
    for at in range(100):
        read_or_refuse(whole[kind], content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
