"""Tests of how weights become nodes."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.inference.openvino_layers import Layers
from sasayaki.inference.openvino_runtime import Int8Groups, PrecisionPlan, core, ops, ov

PLAN = PrecisionPlan(has_int8_weights=True, is_bfloat16=False)


@pytest.mark.parametrize(("n_in", "n_group"), [(64, 16), (64, 64), (40, 40)])
def test_int8_weights_are_within_half_a_step_of_their_group(n_in: int, n_group: int) -> None:
    """Inputs that are no multiple of the group share one scale."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((1500, n_in), np.float32) * np.float32(10) ** rng.integers(-6, 3, (1500, 1))
    weight[1] = 0
    node = Layers({}, PLAN, Int8Groups(weights=16 if n_group == 16 else 64, activations=16)).matrix(weight)
    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core().compile_model(ov.Model([ops.result(node)], [], "matrix"), "CPU", options)
    stored = compiled({})[0]
    grouped, expected = (array.reshape(len(weight), -1, n_group) for array in (stored, weight))
    half_step = np.abs(expected).max(axis=2, keepdims=True) / 127 / 2
    assert (np.abs(grouped - expected) <= half_step * 1.001).all()
    assert not stored[1].any()


def test_a_few_loud_gains_leave_int8_products_behind_a_layer_norm_exact() -> None:
    """Gains that are 60 times the others: nothing is off by a tenth of the standard deviation."""
    rng = np.random.default_rng(0)
    x, weight = (rng.standard_normal((20, 128), np.float32) for _ in range(2))
    gains, biases = np.ones(128, np.float32), rng.standard_normal(128, np.float32) / 10
    gains[[3, 40, 77]] = 60
    weight /= gains
    weights = {"norm.weight": gains, "norm.bias": biases, "query.weight": weight}
    layers = Layers(weights, PLAN, Int8Groups(weights=64, activations=32))
    given = ops.parameter([-1, 128], np.float32)
    graph = ov.Model([ops.result(layers.normed_linear(given, "norm", "query"))], [given], "query")
    options = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 32}
    got = core().compile_model(graph, "CPU", options)({0: x})[0]
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    exact = (normal * gains + biases) @ weight.T
    assert np.abs(got - exact).max() < 0.1 * exact.std()
