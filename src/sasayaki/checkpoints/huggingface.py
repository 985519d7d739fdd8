"""Reads Hugging Face models: config.json, weights in one or more files, vocabulary, generation settings."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, build_checkpoint
from sasayaki.checkpoints.naming import canonical_names
from sasayaki.checkpoints.side_files import SideFiles, alignment_heads, head_lags, token_ids
from sasayaki.checkpoints.vocabulary import read_vocabulary
from sasayaki.errors import CheckpointError

_DIMENSIONS = {
    "n_mels": "num_mel_bins",
    "n_audio_ctx": "max_source_positions",
    "n_audio_state": "d_model",
    "n_audio_head": "encoder_attention_heads",
    "n_audio_layer": "encoder_layers",
    "n_vocab": "vocab_size",
    "n_text_ctx": "max_target_positions",
    "n_text_state": "d_model",
    "n_text_head": "decoder_attention_heads",
    "n_text_layer": "decoder_layers",
}


def from_hugging_face(state: dict[str, npt.NDArray[Any]], files: SideFiles, source: str) -> Checkpoint:
    """The checkpoint of a state dict whose configuration is among `files`.

    Alignment heads and suppressed tokens come from generation_config.json, or config.json in older models.

    Raises:
        CheckpointError: configuration or weights are missing, damaged or of another kind of model.
    """
    config = files.mapping("config.json")
    absent = [key for key in _DIMENSIONS.values() if key not in config]
    if absent:
        raise CheckpointError(
            f"{source} needs a config.json of a Whisper model beside it; "
            + (f"the one there lacks {', '.join(absent)}" if config else "there is none")
        )
    settings = {
        **config,
        **{k: v for k, v in files.mapping("generation_config.json").items() if v is not None},
    }
    return build_checkpoint(
        ModelDimensions(**{field: config[key] for field, key in _DIMENSIONS.items()}),
        canonical_names(state, source),
        source,
        alignment_heads=alignment_heads(settings, source),
        head_lags=head_lags(settings, source),
        suppress_tokens=token_ids(settings, "suppress_tokens", source),
        vocabulary=read_vocabulary(files),
    )
