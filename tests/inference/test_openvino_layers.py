"""Tests of how weights become nodes."""

from __future__ import annotations

import numpy as np

from sasayaki.inference.openvino_layers import Layers
from sasayaki.inference.openvino_runtime import core, ops, ov


def test_int8_weights_are_within_half_a_step_of_their_row() -> None:
    weight = np.random.default_rng(0).standard_normal((5, 64), np.float32) * np.float32([[1], [0], [1e-6], [90], [3]])
    node = Layers({}, has_int8_weights=True).matrix(weight)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core().compile_model(ov.Model([ops.result(node)], [], "matrix"), "CPU", options)
    stored = compiled({})[0]
    half_step = np.abs(weight).max(axis=1, keepdims=True) / 127 / 2
    assert (np.abs(stored - weight) <= half_step * 1.001).all()
    assert not stored[1].any()
