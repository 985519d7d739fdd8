"""Where the decoder's cross-attention looks, on OpenVINO: a graph without a cache that is fed all tokens at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.inference.openvino_layers import (
    Layers,
    Node,
    as_float,
    constant,
    merge_heads,
    parameter,
    result,
    split_heads,
    thirds,
)
from sasayaki.inference.openvino_runtime import ENCODER_GROUPS, PrecisionPlan, ops, ov


def build_alignment(checkpoint: Checkpoint, plan: PrecisionPlan, heads: Sequence[tuple[int, int]]) -> Any:
    """The graph of the decoder up to the last of the (layer, head) pairs in `heads`.

    Inputs: `embedded` (1, n_tokens, n_text_state) float32, and keys.0, values.0, … of the projection for one audio, as
    far as there are layers. Output: `weights` (n_head, n_tokens, n_ctx) float32, after the softmax.
    """
    return _AlignmentBuilder(checkpoint, plan).build(heads)


class _AlignmentBuilder:
    def __init__(self, checkpoint: Checkpoint, plan: PrecisionPlan) -> None:
        self._dims = checkpoint.dims
        self._layers = Layers(checkpoint.weights, plan, ENCODER_GROUPS)
        self._cross_type = plan.element_type
        self._parameters = [parameter("embedded", [1, -1, self._dims.n_text_state])]

    def build(self, heads: Sequence[tuple[int, int]]) -> Any:
        x = self._parameters[0]
        found: dict[int, Node] = {}
        last = max(layer for layer, _ in heads)
        for layer in range(last + 1):
            block = f"decoder.blocks.{layer}"
            x = ops.add(x, self._self_attention(x, layer))
            heard, found[layer] = self._cross_attention(x, layer)
            x = self._layers.mlp(ops.add(x, heard), block)
        picked = [ops.gather(found[layer], constant(np.array([head])), constant(np.array(0))) for layer, head in heads]
        return ov.Model([result(ops.concat(picked, 0), "weights", ov.Type.f32)], self._parameters, "alignment")

    def _self_attention(self, x: Node, layer: int) -> Node:
        name = f"decoder.blocks.{layer}.attn"
        qkv = self._layers.normed_linear(x, f"{name}_ln", [f"{name}.{part}" for part in ("query", "key", "value")])
        q, k, v = (split_heads(part, self._dims.n_text_head) for part in thirds(qkv))
        attended = ops.scaled_dot_product_attention(q, k, v, causal=True)
        return self._layers.linear(merge_heads(attended, self._dims.n_text_state), f"{name}.out")

    def _cross_attention(self, x: Node, layer: int) -> tuple[Node, Node]:
        """What is heard, (1, n_tokens, n_text_state), and the weights of all heads, (n_head, n_tokens, n_ctx)."""
        n_head, n_state = self._dims.n_text_head, self._dims.n_text_state
        name = f"decoder.blocks.{layer}.cross_attn"
        keys = parameter(f"keys.{layer}", [1, n_head, n_state // n_head, -1], self._cross_type)
        values = parameter(f"values.{layer}", [1, n_head, -1, n_state // n_head], self._cross_type)
        self._parameters += [keys, values]
        queries = split_heads(self._layers.normed_linear(x, f"{name}_ln", f"{name}.query"), n_head)
        weights = ops.softmax(ops.matmul(queries, as_float(keys), False, False), -1)
        attended = merge_heads(ops.matmul(weights, as_float(values), False, False), n_state)
        return self._layers.linear(attended, f"{name}.out"), ops.squeeze(weights, constant(np.array([0])))
