"""Every format gives the same model, and whatever is not a model is an error that says what was found."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.errors import CheckpointError
from tests.checkpoints import writers
from tests.checkpoints.writers import DIMS, HEADS, SUPPRESSED, VOCABULARY

FORMATS = ("openai", "hugging_face", "hugging_face_bin", "ctranslate2", "ggml")


def write(kind: str, folder: Path, weights: writers.Arrays, dtype: str) -> Path:
    match kind:
        case "openai":
            return writers.write_openai(folder / "any.name", weights, dtype)
        case "hugging_face":
            return writers.write_hugging_face(folder / kind, weights, dtype)
        case "hugging_face_bin":
            return write_hugging_face_bin(folder / kind, weights, dtype)
        case "ctranslate2":
            return writers.write_plain_ctranslate2(folder / kind, weights, dtype)
        case _:
            return writers.write_ggml(folder / "other.name", writers.ggml_tensors(weights, dtype))


def write_hugging_face_bin(folder: Path, weights: writers.Arrays, dtype: str) -> Path:
    import torch

    writers.write_side_files(folder)
    torch.save(
        {
            "model." + writers.hugging_face_name(name): torch.tensor(array).to(writers.TORCH_TYPES[dtype])
            for name, array in weights.items()
        },
        folder / "pytorch_model.bin",
    )
    return folder


def assert_same_weights(checkpoint: Checkpoint, weights: writers.Arrays) -> None:
    assert checkpoint.weights.keys() == weights.keys()
    for name, array in checkpoint.weights.items():
        assert array.dtype in (np.float32, np.float16), name
        assert np.array_equal(array.astype(np.float32), weights[name]), name


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("kind", FORMATS)
def test_all_formats_give_bit_equal_weights(kind: str, dtype: str, tmp_path: Path) -> None:
    weights = writers.random_weights(dtype)
    checkpoint = read_checkpoint(write(kind, tmp_path, weights, dtype))
    assert checkpoint.dims == DIMS
    assert_same_weights(checkpoint, weights)
    has_side_files = kind not in ("openai", "ggml")
    assert checkpoint.alignment_heads == (HEADS if has_side_files else None)
    assert checkpoint.suppress_tokens == (SUPPRESSED if has_side_files else None)
    assert checkpoint.vocabulary == (None if kind == "openai" else VOCABULARY)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_file_in_parts_reads_like_the_whole(kind: str, cut: int, tmp_path: Path) -> None:
    """Borders fall in the header or inside tensors; only a tensor that crosses one is joined in memory."""
    weights = writers.random_weights("float16")
    path = write(kind, tmp_path, weights, "float16")
    file = next(path.glob("*model*.*[nrs]")) if path.is_dir() else path
    content = file.read_bytes()
    parts = []
    for i, start in enumerate(range(0, len(content), len(content) // (cut + 1) + 1)):
        folder = path.parent / f"part{i}" if path.is_file() else path
        folder.mkdir(exist_ok=True)
        part = folder / f"part{i}"
        part.write_bytes(content[start : start + len(content) // (cut + 1) + 1])
        parts.append(part)
    assert len(parts) == cut + 1
    assert_same_weights(read_checkpoint(parts), weights)


@pytest.mark.parametrize("kind", ["openai", "hugging_face", "ctranslate2", "ggml"])
def test_plain_tensors_are_views_of_the_file(kind: str, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(write(kind, tmp_path, writers.random_weights("float16"), "float16"))
    for name, array in checkpoint.weights.items():
        assert not array.flags.owndata, name
        assert not array.flags.writeable, name


@pytest.mark.parametrize("kind", ["openai", "hugging_face", "ctranslate2", "ggml"])
def test_positions_of_the_encoder_are_computed_when_absent(kind: str, tmp_path: Path) -> None:
    weights = writers.random_weights("float32")
    del weights["encoder.positional_embedding"]
    if kind == "ctranslate2":
        with pytest.raises(CheckpointError, match=r"lacks encoder\.positional_embedding"):
            read_checkpoint(write(kind, tmp_path, weights, "float32"))
        return
    positions = read_checkpoint(write(kind, tmp_path, weights, "float32")).weights["encoder.positional_embedding"]
    half = DIMS.n_audio_state // 2
    for position in range(DIMS.n_audio_ctx):
        for i in range(half):
            angle = position * 10000 ** (-i / (half - 1))
            assert positions[position, i] == pytest.approx(np.sin(angle), abs=1e-6)
            assert positions[position, half + i] == pytest.approx(np.cos(angle), abs=1e-6)


@pytest.mark.parametrize("kind", FORMATS)
def test_all_problems_come_in_one_error(kind: str, tmp_path: Path) -> None:
    weights = writers.random_weights("float32")
    del weights["decoder.ln.bias"]
    weights["decoder.ln.weight"] = np.zeros(3, np.float32)
    weights["encoder.blocks.0.mlp.0.scale"] = np.zeros(2, np.float32)
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(write(kind, tmp_path, weights, "float32"))
    message = str(caught.value)
    assert "missing: decoder.ln.bias (64,)" in message
    assert "wrong shape: decoder.ln.weight is (3,), expected (64,)" in message
    assert "unexpected: " in message
    assert "scale (2,)" in message


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"RIFF....WAVEfmt ", r"begins with b'RIFF.*expected a \.pt file"),
        (b"GGUF" + bytes(40), "begins with b'GGUF"),
        (b"x", "begins with b'x'"),
        (b"PK\x03\x04 but no archive", "damaged archive"),
        (b"\x80\x02" + bytes.fromhex("8a0a6cfc9c46f9206aa85019") + b".", r"before PyTorch 1\.6"),
        (struct.pack("<IH", 6, 16) + b"TransformerSpec\0" + bytes(8), "kind TransformerSpec .* expected Whisper"),
        (struct.pack("<IH", 3, 12) + b"WhisperSpec\0" + bytes(8), "version 3 of the format; expected"),
        (struct.pack("<Q", 2) + b"{}", r"needs a config\.json"),
    ],
)
def test_what_is_no_model_is_named(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "base.pt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=expected):
        read_checkpoint(path)


def test_an_empty_or_absent_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("empty", "absent"):
        with pytest.raises(CheckpointError, match=f"cannot read .*{name}"):
            read_checkpoint(tmp_path / name)
