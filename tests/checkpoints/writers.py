"""Writes a small Whisper model in every format that the readers know, straight from each format's description."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from sasayaki.checkpoints.names import ModelDimensions, canonical_shapes

DIMS = ModelDimensions(
    n_mels=8, n_audio_ctx=6, n_audio_state=64, n_audio_head=4, n_audio_layer=2,
    n_vocab=70, n_text_ctx=5, n_text_state=64, n_text_head=2, n_text_layer=1,
)  # fmt: skip
HEADS = ((0, 0), (0, 1))
SUPPRESSED = (1, 7, 63)
TOKENS = [chr(ord("A") + i) for i in range(26)] + ["Ġ", "Ċ", "Ā", "ÿ", "Ġthe", "âĤ", "¬"]
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>"]
VOCABULARY = {bytes([ord("A") + i]): i for i in range(26)} | {
    b" ": 26, b"\n": 27, b"\0": 28, b"\xff": 29, b" the": 30, b"\xe2\x82": 31, b"\xac": 32
}  # fmt: skip

Arrays = Mapping[str, np.ndarray]
TORCH_TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def random_weights(dtype: str, dims: ModelDimensions = DIMS) -> dict[str, np.ndarray]:
    """Random float32 weights whose values are exact in `dtype`."""
    generator = torch.Generator().manual_seed(1)
    return {
        name: torch.randn(shape, generator=generator).to(TORCH_TYPES[dtype]).float().numpy()
        for name, shape in canonical_shapes(dims).items()
    }


def to_bytes(array: np.ndarray, dtype: str) -> bytes:
    """Little-endian bytes of an array in `dtype`, which may be bfloat16."""
    if dtype != "bfloat16":
        return array.astype(dtype).tobytes()
    return torch.tensor(array).bfloat16().view(torch.uint16).numpy().tobytes()


def write_openai(path: Path, weights: Arrays, dtype: str, dims: ModelDimensions = DIMS) -> Path:
    state = {name: torch.tensor(array).to(TORCH_TYPES[dtype]) for name, array in weights.items()}
    torch.save({"dims": dataclasses.asdict(dims), "model_state_dict": state}, path)
    return path


def hugging_face_name(name: str) -> str:
    """Hugging Face's name of a canonical weight, without the prefix of the whole model."""
    for ours, theirs in (
        ("blocks", "layers"), (".cross_attn_ln.", ".encoder_attn_layer_norm."), (".cross_attn.", ".encoder_attn."),
        (".attn_ln.", ".self_attn_layer_norm."), (".attn.", ".self_attn."), (".mlp_ln.", ".final_layer_norm."),
        (".mlp.0.", ".fc1."), (".mlp.2.", ".fc2."), (".query.", ".q_proj."), (".key.", ".k_proj."),
        (".value.", ".v_proj."), (".out.", ".out_proj."), ("encoder.ln_post.", "encoder.layer_norm."),
        ("decoder.ln.", "decoder.layer_norm."), ("token_embedding", "embed_tokens"),
        ("positional_embedding", "embed_positions.weight"),
    ):  # fmt: skip
        name = name.replace(ours, theirs)
    return name


def write_safetensors(path: Path, tensors: Arrays, dtype: str) -> Path:
    kind = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[dtype]
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in tensors.items():
        encoded = to_bytes(array, dtype)
        offsets = [len(data), len(data) + len(encoded)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        data += encoded
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def write_hugging_face(folder: Path, weights: Arrays, dtype: str, *, prefix: str = "model.", n_shards: int = 1) -> Path:
    """A folder with configuration, vocabulary and weights in safetensors files."""
    named = {prefix + hugging_face_name(name): array for name, array in weights.items()}
    write_side_files(folder)
    if n_shards == 1:
        write_safetensors(folder / "model.safetensors", named, dtype)
        return folder
    weight_map = {}
    for shard in range(n_shards):
        file = f"model-{shard + 1:05}-of-{n_shards:05}.safetensors"
        part = dict(list(named.items())[shard::n_shards])
        write_safetensors(folder / file, part, dtype)
        weight_map |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    return folder


def write_side_files(folder: Path, dims: ModelDimensions = DIMS) -> None:
    """The configuration and vocabulary of a Hugging Face model."""
    folder.mkdir(exist_ok=True)
    config = {
        "num_mel_bins": dims.n_mels, "max_source_positions": dims.n_audio_ctx, "d_model": dims.n_audio_state,
        "encoder_attention_heads": dims.n_audio_head, "encoder_layers": dims.n_audio_layer,
        "vocab_size": dims.n_vocab, "max_target_positions": dims.n_text_ctx,
        "decoder_attention_heads": dims.n_text_head, "decoder_layers": dims.n_text_layer,
        "model_type": "whisper", "suppress_tokens": None,
    }  # fmt: skip
    settings = {"alignment_heads": HEADS, "suppress_tokens": SUPPRESSED}
    added = [{"id": len(TOKENS) + i, "content": token} for i, token in enumerate(SPECIAL)]
    tokenizer = {"added_tokens": added, "model": {"vocab": {token: i for i, token in enumerate(TOKENS)}}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps(settings))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def ctranslate2_variables(weights: Arrays) -> dict[str, np.ndarray]:
    """CTranslate2's names and fused projections of canonical weights."""
    fused: dict[str, list[np.ndarray]] = {}
    order = {name: i for i, name in enumerate(canonical_shapes(DIMS))}
    for name, array in sorted(weights.items(), key=lambda item: order.get(item[0], -1)):
        fused.setdefault(_ctranslate2_name(name), []).append(array)
        if name.endswith(".key.weight"):  # CTranslate2 has a bias for every projection
            bias = name.replace("weight", "bias")
            fused.setdefault(_ctranslate2_name(bias), []).append(np.zeros(len(array), np.float32))
    return {name: np.concatenate(parts) for name, parts in sorted(fused.items())}


def _ctranslate2_name(name: str) -> str:
    *module, leaf = name.split(".")
    path = "/".join(module).replace("blocks/", "layer_")
    norm = path.endswith(("_ln", "/ln", "ln_post"))
    for ours, theirs in (
        ("cross_attn_ln", "attention/layer_norm"), ("cross_attn/query", "attention/linear_0"),
        ("cross_attn/key", "attention/linear_1"), ("cross_attn/value", "attention/linear_1"),
        ("cross_attn/out", "attention/linear_2"), ("/attn_ln", "/self_attention/layer_norm"),
        ("/attn/query", "/self_attention/linear_0"), ("/attn/key", "/self_attention/linear_0"),
        ("/attn/value", "/self_attention/linear_0"), ("/attn/out", "/self_attention/linear_1"),
        ("mlp_ln", "ffn/layer_norm"), ("mlp/0", "ffn/linear_0"), ("mlp/2", "ffn/linear_1"),
        ("encoder/ln_post", "encoder/layer_norm"), ("decoder/ln", "decoder/layer_norm"),
        ("token_embedding", "embeddings"),
    ):  # fmt: skip
        path = path.replace(ours, theirs)
    if leaf == "positional_embedding":
        return f"{path}/position_encodings/encodings"
    return f"{path}/{ {'weight': 'gamma', 'bias': 'beta'}[leaf] if norm else leaf }"


def write_ctranslate2(folder: Path, variables: Mapping[str, tuple[np.ndarray, str]], heads_type: str = "int16") -> Path:
    """A folder with model.bin, config.json and vocabulary.txt; a variable comes with its stored type."""
    kinds = ["float32", "int8", "int16", "int32", "float16", "bfloat16"]
    stored = dict(variables) | {
        "encoder/num_heads": (np.array(DIMS.n_audio_head), heads_type),
        "decoder/num_heads": (np.array(DIMS.n_text_head), "int16"),
        "decoder/activation": (np.array(3), "int8"),
    }

    def text(value: str) -> bytes:
        return struct.pack("<H", len(value) + 1) + value.encode() + b"\0"

    content = struct.pack("<I", 6) + text("WhisperSpec") + struct.pack("<2I", 3, len(stored))
    for name, (array, dtype) in stored.items():
        data = to_bytes(array, dtype)
        content += text(name) + struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
        content += struct.pack("<BI", kinds.index(dtype), len(data)) + data
    content += struct.pack("<I", 1) + text("decoder/projection/weight") + text("decoder/embeddings/weight")
    folder.mkdir(exist_ok=True)
    (folder / "model.bin").write_bytes(content)
    config = {"alignment_heads": HEADS, "suppress_ids": SUPPRESSED}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocabulary.txt").write_text("\n".join(TOKENS + SPECIAL) + "\n", encoding="utf-8")
    return folder


def write_plain_ctranslate2(folder: Path, weights: Arrays, dtype: str) -> Path:
    variables = ctranslate2_variables(weights)
    return write_ctranslate2(folder, {name: (array, dtype) for name, array in variables.items()})


def write_ggml(path: Path, tensors: Sequence[tuple[str, Sequence[int], int, bytes]], kind: int = 1) -> Path:
    """A ggml file of tensors given as (name, shape, ggml type, data)."""
    d = DIMS
    content = b"lmgg" + struct.pack(
        "<11i", d.n_vocab, d.n_audio_ctx, d.n_audio_state, d.n_audio_head, d.n_audio_layer, d.n_text_ctx,
        d.n_text_state, d.n_text_head, d.n_text_layer, d.n_mels, kind,
    )  # fmt: skip
    content += struct.pack("<2i", d.n_mels, 3) + bytes(4 * d.n_mels * 3)
    content += struct.pack("<i", len(VOCABULARY))
    for token in VOCABULARY:
        content += struct.pack("<i", len(token)) + token
    for name, shape, tensor_kind, data in tensors:
        content += struct.pack("<3i", len(shape), len(name), tensor_kind)
        content += struct.pack(f"<{len(shape)}i", *reversed(shape)) + name.encode() + data
    path.write_bytes(content)
    return path


def ggml_tensors(weights: Arrays, dtype: str) -> list[tuple[str, Sequence[int], int, bytes]]:
    """Tensors as whisper.cpp's converter makes them: matrices in `dtype`, vectors and positions in float32."""
    tensors: list[tuple[str, Sequence[int], int, bytes]] = []
    for name, array in weights.items():
        shape = (*array.shape, 1) if name in ("encoder.conv1.bias", "encoder.conv2.bias") else array.shape
        plain = array.ndim < 2 or name.endswith("positional_embedding")
        stored = "float32" if plain else dtype
        kind = {"float32": 0, "float16": 1, "bfloat16": 30}[stored]
        tensors.append((name, shape, kind, to_bytes(array, stored)))
    return tensors
