"""Tests of what int8 makes of logits, and of the keys and values of what was heard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.inference.openvino_graph import build_head, build_projection
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, ENCODER_GROUPS, PrecisionPlan, core
from tests.models import random_checkpoint, tiny_dims


@pytest.mark.parametrize("loud", [60.0, 0.0, -60.0])
def test_a_few_loud_inputs_leave_int8_logits_exact(loud: float) -> None:
    """Gains that are 60 times the others, or 0: no logit is off by a tenth of their standard deviation."""
    checkpoint = random_checkpoint(tiny_dims(n_state=128))
    gains = np.ones(128, np.float32)
    gains[[3, 40, 77]] = loud
    embedding = checkpoint.weights["decoder.token_embedding.weight"].copy()
    embedding[:, [3, 40, 77]] /= 60
    weights = {**checkpoint.weights, "decoder.ln.weight": gains, "decoder.token_embedding.weight": embedding}
    states = np.random.default_rng(0).standard_normal((5, 1, 128), np.float32)
    normal = (states - states.mean(-1, keepdims=True)) / np.sqrt(states.var(-1, keepdims=True) + 1e-5)
    exact = (normal * gains + weights["decoder.ln.bias"]) @ embedding.T

    logits = head(replace(checkpoint, weights=weights), states)
    assert np.abs(logits[..., : exact.shape[-1]] - exact).max() < 0.1 * exact.std()


def test_a_few_loud_features_leave_int8_keys_and_values_exact() -> None:
    """Gains of the encoder's last layer norm that are 16 times the others: nothing is off by a tenth."""
    checkpoint = random_checkpoint(tiny_dims(n_state=128))
    names = [f"decoder.blocks.0.cross_attn.{part}.weight" for part in ("key", "value")]
    gains = np.ones(128, np.float32)
    gains[[3, 40, 77]] = 16
    weights = {**checkpoint.weights, "encoder.ln_post.weight": gains}
    for name in names:
        weights[name] = weights[name] / gains
    features = gains * np.random.default_rng(0).standard_normal((1, 20, 128), np.float32)

    plan = PrecisionPlan(has_int8_weights=True, is_bfloat16=False)
    graph = build_projection(replace(checkpoint, weights=weights), plan)
    found = core().compile_model(graph, "CPU", plan.compile_options(1, ENCODER_GROUPS))({"features": features})
    n_width = found["values.0"].shape[3]
    keys = found["keys.0"].transpose(0, 3, 1, 2).reshape(1, 20, 128) * np.float32(n_width**0.5)
    values = found["values.0"].transpose(0, 2, 1, 3).reshape(1, 20, 128)
    for name, got in zip(names, (keys, values), strict=True):
        exact = features @ weights[name].T
        got = got - weights.get(name.replace("weight", "bias"), np.float32(0))
        assert np.abs(got - exact).max() < 0.1 * exact.std()


def test_a_layer_norm_of_zeros_gives_numbers() -> None:
    checkpoint = random_checkpoint(tiny_dims(n_state=128))
    weights = {**checkpoint.weights, "decoder.ln.weight": np.zeros(128, np.float32)}
    states = np.ones((1, 1, 128), np.float32)
    assert np.isfinite(head(replace(checkpoint, weights=weights), states)).all()


def head(checkpoint: Checkpoint, states: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Logits with int8 weights, of the states of a decoder."""
    plan = PrecisionPlan(has_int8_weights=True, is_bfloat16=False)
    compiled = core().compile_model(build_head(checkpoint, plan), "CPU", plan.compile_options(1, DECODER_GROUPS))
    logits: npt.NDArray[np.float32] = compiled({"states": states})["logits"]
    return logits
