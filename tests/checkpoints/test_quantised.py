"""Quantised weights equal a slow dequantiser that follows each format's description value by value."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.errors import CheckpointError
from tests.checkpoints import writers

BLOCK_BYTES = {2: 18, 3: 20, 6: 22, 7: 24, 8: 34}
NAMES = {2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0"}
MATRIX = "encoder.blocks.0.mlp.0.weight"


def random_blocks(kind: int, n_values: int, seed: int) -> bytes:
    """Blocks of random bits under small random scales and minima."""
    rng = np.random.default_rng(seed)
    n_scales = 2 if kind in (3, 7) else 1
    scales = rng.standard_normal((n_values // 32, n_scales)).astype("<f2")
    rest = rng.integers(0, 256, (n_values // 32, BLOCK_BYTES[kind] - 2 * n_scales), dtype=np.uint8)
    return np.concatenate([scales.view(np.uint8), rest], axis=1).tobytes()


def slow_dequantise(kind: int, data: bytes) -> list[np.float32]:
    """One value after the other, as whisper.cpp defines them."""
    values = []
    for start in range(0, len(data), BLOCK_BYTES[kind]):
        block = data[start : start + BLOCK_BYTES[kind]]
        scale = np.float32(struct.unpack("<e", block[:2])[0])
        minimum = np.float32(struct.unpack("<e", block[2:4])[0]) if kind in (3, 7) else None
        rest = block[4:] if kind in (3, 7) else block[2:]
        for i in range(32):
            if kind == 8:
                values.append(np.float32(struct.unpack_from("<b", rest, i)[0]) * scale)
                continue
            halves = rest[4:] if kind in (6, 7) else rest
            quant = halves[i] & 15 if i < 16 else halves[i - 16] >> 4
            if kind in (6, 7):
                quant |= (struct.unpack("<I", rest[:4])[0] >> i & 1) << 4
            if minimum is None:
                values.append(np.float32(quant - (16 if kind == 6 else 8)) * scale)
            else:
                values.append(np.float32(quant) * scale + minimum)
    return values


@pytest.mark.parametrize("kind", BLOCK_BYTES, ids=NAMES.get)
def test_ggml_blocks_equal_the_slow_dequantiser(kind: int, tmp_path: Path) -> None:
    tensors, expected = [], {}
    for seed, (name, shape, plain, data) in enumerate(
        writers.ggml_tensors(writers.random_weights("float16"), "float16")
    ):
        if len(shape) == 2 and plain == 1:
            data = random_blocks(kind, int(np.prod(shape)), seed)
            expected[name] = np.array(slow_dequantise(kind, data), np.float32).reshape(shape)
            tensors.append((name, shape, kind, data))
        else:
            tensors.append((name, shape, plain, data))
    checkpoint = read_checkpoint(writers.write_ggml(tmp_path / "m", tensors, kind=2007))
    assert len(expected) == 23
    for name, array in expected.items():
        assert np.array_equal(checkpoint.weights[name], array), name


def ggml_with(tmp_path: Path, kind: int, data: bytes, layout_version: int = 2) -> Path:
    tensors = writers.ggml_tensors(writers.random_weights("float16"), "float16")
    shape = next(shape for name, shape, *_ in tensors if name == MATRIX)
    changed = [(MATRIX, shape, kind, data) if entry[0] == MATRIX else entry for entry in tensors]
    return writers.write_ggml(tmp_path / "m", changed, kind=1000 * layout_version + 7)


def test_an_older_layout_of_blocks_is_refused(tmp_path: Path) -> None:
    path = ggml_with(tmp_path, 8, random_blocks(8, 256 * 64, 0), layout_version=1)
    with pytest.raises(CheckpointError, match="version 1 of the layout, expected 2"):
        read_checkpoint(path)


def test_an_unsupported_type_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=rf"{MATRIX} has ggml type 12; supported are f32"):
        read_checkpoint(ggml_with(tmp_path, 12, b""))


@pytest.mark.parametrize("plain", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("integer", ["int8", "int16"])
def test_ctranslate2_integers_equal_the_slow_division(integer: str, plain: str, tmp_path: Path) -> None:
    """Linear layers, convolutions and the embedding are quantised, with one scale per row (int16: one in all)."""
    weights = writers.random_weights(plain)
    stored: dict[str, tuple[np.ndarray, str]] = {}
    expected: dict[str, np.ndarray] = {}
    for name, array in writers.ctranslate2_variables(weights).items():
        if not name.endswith("/weight"):
            stored[name] = (array, plain)
            continue
        rows = array.reshape(len(array), -1)
        scales = 127 / abs(rows).max(axis=1) if integer == "int8" else np.full(len(rows), 1024 / abs(rows).max())
        scales = scales.astype(np.float32)
        quants = np.rint(rows * scales[:, None]).astype(integer)
        expected[name] = np.array(
            [[np.float32(q) / scale for q in row] for row, scale in zip(quants, scales, strict=True)]
        ).reshape(array.shape)
        stored[name] = (quants.reshape(array.shape), integer)
        stored[f"{name}_scale"] = (scales if integer == "int8" else scales[0], "float32")
    checkpoint = read_checkpoint(writers.write_ctranslate2(tmp_path, stored))
    read = writers.ctranslate2_variables(checkpoint.weights)
    assert len(expected) == 18
    for name, array in expected.items():
        assert array.dtype == np.float32
        assert np.array_equal(read[name], array), name
    for name, (array, kind) in stored.items():
        if kind == plain and not name.endswith("_scale"):
            assert np.array_equal(read[name].astype(np.float32), array), name


def test_scales_of_the_wrong_shape_are_refused(tmp_path: Path) -> None:
    stored = {n: (a, "float32") for n, a in writers.ctranslate2_variables(writers.random_weights("float32")).items()}
    stored["encoder/conv1/weight"] = (np.zeros((64, 8, 3), np.int8), "int8")
    stored["encoder/conv1/weight_scale"] = (np.ones(63), "float32")
    with pytest.raises(CheckpointError, match=r"\(64, 8, 3\) has scales \(63,\)"):
        read_checkpoint(writers.write_ctranslate2(tmp_path, stored))


def test_a_number_of_heads_must_be_whole(tmp_path: Path) -> None:
    stored = {n: (a, "float32") for n, a in writers.ctranslate2_variables(writers.random_weights("float32")).items()}
    with pytest.raises(CheckpointError, match="lacks a whole encoder/num_heads"):
        read_checkpoint(writers.write_ctranslate2(tmp_path, stored, heads_type="float16"))


def test_a_ctranslate2_output_layer_of_its_own_is_refused(tmp_path: Path) -> None:
    stored = {n: (a, "float32") for n, a in writers.ctranslate2_variables(writers.random_weights("float32")).items()}
    folder = writers.write_ctranslate2(tmp_path, stored)
    content = (folder / "model.bin").read_bytes()
    head, _, tail = content.rpartition(b"decoder/embeddings/weight")
    other = b"decoder/layer_norm/gamma"
    (folder / "model.bin").write_bytes(head[:-2] + struct.pack("<H", len(other) + 1) + other + tail)
    with pytest.raises(CheckpointError, match="output layer other than its embedding"):
        read_checkpoint(folder)
