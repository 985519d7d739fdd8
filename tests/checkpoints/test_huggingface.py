"""Hugging Face models of all habits: prefixes, shards, tied weights, other vocabularies, old configurations."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from sasayaki.checkpoints.read import read_checkpoint
from sasayaki.errors import CheckpointError
from tests.checkpoints import writers
from tests.checkpoints.writers import DIMS, HEADS, VOCABULARY

EMBEDDING = "decoder.embed_tokens.weight"


def change_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("prefix", ["", "model.", "module.model.", "_orig_mod."])
def test_names_with_any_prefix_load(prefix: str, n_shards: int, dtype: str, tmp_path: Path) -> None:
    """B173: names with and without prefix, whole or sharded, in fp16 and bf16, are the same model."""
    weights = writers.random_weights(dtype)
    folder = writers.write_hugging_face(tmp_path / "m", weights, dtype, prefix=prefix, n_shards=n_shards)
    checkpoint = read_checkpoint(folder)
    for name, array in weights.items():
        assert np.array_equal(checkpoint.weights[name].astype(np.float32), array)


@pytest.mark.parametrize("saved", ["both", "embedding only", "output only"])
@pytest.mark.parametrize("prefix", ["", "model."])
def test_tied_output_layer_is_dropped_and_stands_in(prefix: str, saved: str, tmp_path: Path) -> None:
    """B173: an extra proj_out.weight that repeats the embedding, or replaces it, does no harm."""
    weights = writers.random_weights("float32")
    named = {prefix + writers.hugging_face_name(name): array for name, array in weights.items()}
    if saved != "embedding only":
        named["proj_out.weight"] = weights["decoder.token_embedding.weight"]
    if saved == "output only":
        del named[prefix + EMBEDDING]
    writers.write_side_files(tmp_path)
    writers.write_safetensors(tmp_path / "model.safetensors", named, "float32")
    read = read_checkpoint(tmp_path).weights
    assert read.keys() == weights.keys()
    assert np.array_equal(read["decoder.token_embedding.weight"], weights["decoder.token_embedding.weight"])


def test_openai_names_beside_a_configuration_load(tmp_path: Path) -> None:
    """B173: the scheme of names is told from the names, not from the container."""
    weights = writers.random_weights("float32")
    writers.write_side_files(tmp_path)
    writers.write_safetensors(tmp_path / "model.safetensors", weights, "float32")
    assert read_checkpoint(tmp_path).weights.keys() == weights.keys()


def test_hugging_face_names_in_an_openai_file_load(tmp_path: Path) -> None:
    """B173: a fine-tuned model whose state dict was saved as openai/whisper's."""
    weights = writers.random_weights("float32")
    named = {"model." + writers.hugging_face_name(name): array for name, array in weights.items()}
    checkpoint = read_checkpoint(writers.write_openai(tmp_path / "tuned.pt", named, "float32"))
    assert checkpoint.weights.keys() == weights.keys()


def test_unknown_names_are_listed_up_to_five(tmp_path: Path) -> None:
    """B173: the error shows some of the names instead of an endless list."""
    weights = writers.random_weights("float32")
    extra = {f"encoder.adapter.{i}.weight": np.zeros(1, np.float32) for i in range(9)}
    folder = writers.write_hugging_face(tmp_path / "m", weights | extra, "float32")
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(folder)
    assert str(caught.value).count("adapter") == 5
    assert "unexpected: … and 4 more" in str(caught.value)


def test_names_of_neither_scheme_are_shown(tmp_path: Path) -> None:
    """B173: the error says which schemes were looked for and what was found."""
    writers.write_side_files(tmp_path)
    writers.write_safetensors(tmp_path / "model.safetensors", {"wav2vec2.x": np.zeros(1)}, "float32")
    with pytest.raises(CheckpointError, match=r"neither as by openai/whisper nor .* Hugging Face .*wav2vec2\.x"):
        read_checkpoint(tmp_path)


def test_an_untied_output_layer_is_refused(tmp_path: Path) -> None:
    weights = writers.random_weights("float32")
    named = {"model." + writers.hugging_face_name(name): array for name, array in weights.items()}
    named["proj_out.weight"] = weights["decoder.token_embedding.weight"] + 1
    writers.write_side_files(tmp_path)
    writers.write_safetensors(tmp_path / "model.safetensors", named, "float32")
    with pytest.raises(CheckpointError, match=r"output layer \(proj_out\.weight\)"):
        read_checkpoint(tmp_path)


def test_another_vocabulary_size_is_taken_from_the_configuration(tmp_path: Path) -> None:
    dims = dataclasses.replace(DIMS, n_vocab=77)
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16", dims), "float16")
    change_json(folder / "config.json", vocab_size=77)
    assert read_checkpoint(folder).dims == dims


def test_config_stands_in_for_generation_config(tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    (folder / "generation_config.json").unlink()
    change_json(folder / "config.json", suppress_tokens=[9, 3], alignment_heads=HEADS)
    checkpoint = read_checkpoint(folder)
    assert checkpoint.suppress_tokens == (3, 9)
    assert checkpoint.alignment_heads == HEADS


def test_alignment_heads_of_a_larger_teacher_count_as_unknown(tmp_path: Path) -> None:
    """Distilled models have shipped the heads of a teacher with more layers."""
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    change_json(folder / "generation_config.json", alignment_heads=[[0, 1], [7, 0]])
    assert read_checkpoint(folder).alignment_heads is None


def test_measured_lags_are_kept_with_the_heads(tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    lags = [0.1 * place for place in range(len(HEADS))]
    assert read_checkpoint(folder).head_lags is None
    change_json(folder / "generation_config.json", alignment_head_lags=lags)
    assert read_checkpoint(folder).head_lags == tuple(lags)
    change_json(folder / "generation_config.json", alignment_heads=[[7, 0]], alignment_head_lags=[0.1])
    assert read_checkpoint(folder).head_lags is None


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        (
            "generation_config.json",
            '{"alignment_heads": [[0, 0]], "alignment_head_lags": [0, 1]}',
            "one for each of the 1",
        ),
        ("generation_config.json", '{"alignment_heads": [[0, 0]], "alignment_head_lags": ["a"]}', "must be seconds"),
        ("generation_config.json", '{"alignment_heads": [[0, 0]], "alignment_head_lags": [20]}', "must be seconds"),
        ("config.json", "{", "config.json is not valid JSON"),
        ("config.json", "[]", "holds a list, expected an object"),
        ("config.json", "{}", "needs a config.json"),
        ("config.json", '{"vocab_size": 3}', "lacks num_mel_bins"),
        ("generation_config.json", '{"alignment_heads": [1]}', r"must be \[layer, head\] pairs, not \[1\]"),
        ("generation_config.json", '{"suppress_tokens": "no"}', "must be a list of token ids, not 'no'"),
        ("tokenizer.json", '{"model": {"vocab": 3}}', "is no vocabulary"),
        ("tokenizer.json", "[" * 100_000, "not valid JSON"),
        ("tokenizer.json", "{}", "no usable text tokens"),
    ],
)
def test_damaged_side_files_are_named(file: str, content: str, expected: str, tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    (folder / file).write_text(content)
    with pytest.raises(CheckpointError, match=expected):
        read_checkpoint(folder)


@pytest.mark.parametrize("value", [0, -1, 2**40, 2.0, "8", None, True])
def test_senseless_dimensions_are_refused(value: object, tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    change_json(folder / "config.json", encoder_layers=value)
    with pytest.raises(CheckpointError, match=r"n_audio_layer is .*expected a whole number from 1 to 256"):
        read_checkpoint(folder)


def test_heads_must_divide_the_width(tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    change_json(folder / "config.json", decoder_attention_heads=5)
    with pytest.raises(CheckpointError, match="n_text_state 64 is not a multiple of n_text_head 5"):
        read_checkpoint(folder)


@pytest.mark.parametrize("form", ["vocab.json", "vocabulary.json", "vocabulary.txt"])
def test_every_form_of_vocabulary_gives_bytes(form: str, tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    (folder / "tokenizer.json").unlink()
    tokens = writers.TOKENS + writers.SPECIAL
    listed = {t: i for i, t in enumerate(tokens)} if form == "vocab.json" else tokens
    text = "\n".join(tokens) if form.endswith("txt") else json.dumps(listed)
    (folder / form).write_text(text, encoding="utf-8")
    assert read_checkpoint(folder).vocabulary == VOCABULARY


def test_a_token_called_model_is_no_tokenizer_file(tmp_path: Path) -> None:
    folder = writers.write_hugging_face(tmp_path / "m", writers.random_weights("float16"), "float16")
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text('{"model": 0, "日": 1, "": 2}', encoding="utf-8")
    assert read_checkpoint(folder).vocabulary == {b"model": 0, "日".encode(): 1, b"": 2}
