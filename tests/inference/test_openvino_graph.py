"""Tests of what int8 makes of the logits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.inference.openvino_graph import build_head
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, PrecisionPlan, core
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
