"""Names of weights in PyTorch state dicts, openai/whisper's or Hugging Face's, to canonical names.

The two schemes, and whatever prefix a training framework puts before all names ("model.", "module.", …), are
told from the names themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.errors import CheckpointError

# A name that every model has, in both schemes.
_LANDMARK = "encoder.conv1.weight"
_EMBEDDING = "decoder.token_embedding.weight"
_OUTPUT_LAYER = re.compile(r"(.*\.)?(proj_out|lm_head)\.weight")
# Saved by some versions, but not learned: the causal mask, the choice of alignment heads.
_BUFFERS = {"decoder.mask", "alignment_heads"}

_HUGGING_FACE = (
    (r"^(encoder|decoder)\.layers\.(\d+)\.", r"\1.blocks.\2."),
    (r"\.self_attn_layer_norm\.", ".attn_ln."),
    (r"\.encoder_attn_layer_norm\.", ".cross_attn_ln."),
    (r"\.final_layer_norm\.", ".mlp_ln."),
    (r"\.self_attn\.", ".attn."),
    (r"\.encoder_attn\.", ".cross_attn."),
    (r"\.q_proj\.", ".query."),
    (r"\.k_proj\.", ".key."),
    (r"\.v_proj\.", ".value."),
    (r"\.out_proj\.", ".out."),
    (r"\.fc1\.", ".mlp.0."),
    (r"\.fc2\.", ".mlp.2."),
    (r"^encoder\.layer_norm\.", "encoder.ln_post."),
    (r"^decoder\.layer_norm\.", "decoder.ln."),
    (r"\.embed_tokens\.", ".token_embedding."),
    (r"\.embed_positions\.weight$", ".positional_embedding"),
)


def canonical_names(state: object, source: str) -> dict[str, npt.NDArray[Any]]:
    """The weights of a state dict under canonical names; unknown names are kept, to be reported.

    The output layer must be the token embedding, and is dropped; if only one of them was saved, it is both.

    Raises:
        CheckpointError: this is no state dict of a Whisper model, or its output layer is not the embedding.
    """
    if not isinstance(state, Mapping) or not all(isinstance(array, np.ndarray) for array in state.values()):
        raise CheckpointError(f"{source} holds no state dict: expected weights by name")
    names = [name for name in state if isinstance(name, str)]
    landmark = next((name for name in names if name.endswith(_LANDMARK)), None)
    if landmark is None or len(names) < len(state):
        shown = ", ".join(map(str, list(state)[:5])) or "none"
        raise CheckpointError(
            f"{source} has weights named neither as by openai/whisper nor as by Hugging Face "
            f"(no {_LANDMARK}, with any prefix): {shown}{', …' if len(state) > 5 else ''}"
        )
    prefix = landmark.removesuffix(_LANDMARK)
    weights = {_canonical(name.removeprefix(prefix)): array for name, array in state.items()}
    return _without_output_layer({n: a for n, a in weights.items() if n not in _BUFFERS}, source)


def _canonical(name: str) -> str:
    for pattern, replacement in _HUGGING_FACE:
        name = re.sub(pattern, replacement, name)
    return name


def _without_output_layer(weights: dict[str, npt.NDArray[Any]], source: str) -> dict[str, npt.NDArray[Any]]:
    for name in [name for name in weights if _OUTPUT_LAYER.fullmatch(name)]:
        output = weights.pop(name)
        if not np.array_equal(output, weights.setdefault(_EMBEDDING, output)):
            raise CheckpointError(
                f"{source} has an output layer ({name}) other than its token embedding: they must be equal"
            )
    return weights
