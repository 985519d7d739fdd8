"""Layers of Whisper as OpenVINO nodes over canonical weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import Weights
from sasayaki.inference.openvino_runtime import Int8Groups, PrecisionPlan, ops, ov

Node = Any
"""An output of an OpenVINO graph."""


HEADS_FIRST = (0, 2, 1, 3)
"""The order of axes in which heads come before positions, and the way back."""

_BLOCK = 1024
"""Outputs whose weights are rounded at a time."""


class Layers:
    """Makes nodes from weights by their canonical names.

    Args:
        weights: canonical weights, float32 or float16; all arithmetic on them is float32.
        plan: whether the matrices of linear layers are stored as int8.
        groups: the int8 scales of those matrices.
    """

    def __init__(self, weights: Weights, plan: PrecisionPlan, groups: Int8Groups) -> None:
        self._weights = weights
        self._plan = plan
        self._groups = groups

    def array(self, name: str) -> npt.NDArray[np.float32]:
        """A weight as float32."""
        return np.ascontiguousarray(self._weights[name], np.float32)

    def linear(
        self, x: Node, names: str | Sequence[str], *, scale: float = 1.0, share: npt.NDArray[np.float32] | None = None
    ) -> Node:
        """`x` (…, n_in) through one linear layer, or through several at once with their outputs side by side.

        A layer without a stored bias has none. `scale` multiplies the outputs, bias included. `share` (n_in,) is what
        `x` was divided by.
        """
        names = [names] if isinstance(names, str) else names
        weight = np.concatenate([self.array(f"{name}.weight") for name in names]) * np.float32(scale)
        y = ops.matmul(x, self.matrix(weight if share is None else weight * share), False, True)
        biases = [self._bias(name) for name in names]
        if any(bias.any() for bias in biases):
            y = ops.add(y, constant(np.concatenate(biases) * np.float32(scale)))
        return y

    def matrix(self, weight: npt.NDArray[np.float32]) -> Node:
        """A weight matrix (n_out, n_in); as int8 it has symmetric scales, one per output and group of inputs."""
        if not self._plan.has_int8_weights:
            return constant(weight)
        n_out, n_in = weight.shape
        n_group = n_in if n_in % self._groups.weights else self._groups.weights
        grouped = weight.reshape(n_out, -1, n_group)
        largest = np.abs(grouped).max(axis=2, keepdims=True)
        scale = np.where(largest > 0, largest, 1) / np.float32(127)
        rounded = np.empty(grouped.shape, np.int8)
        for start in range(0, n_out, _BLOCK):  # else a vocabulary's worth of float32 is in memory several times
            block = slice(start, start + _BLOCK)
            rounded[block] = np.rint(grouped[block] / scale[block])
        quantised = ops.convert(constant(rounded), ov.Type.f32)
        scaled = ops.multiply(quantised, constant(scale.astype(np.float32)))
        return ops.reshape(scaled, constant(np.array([n_out, n_in])), False)

    def layer_norm(self, x: Node, name: str, *, share: npt.NDArray[np.float32] | None = None) -> Node:
        """Layer norm over the last axis, divided by `share`."""
        gains, biases = self.array(f"{name}.weight"), self.array(f"{name}.bias")
        if share is not None:
            gains, biases = gains / share, biases / share
        normal = ops.mvn(x, constant(np.array([-1])), True, 1e-5, "inside_sqrt")
        return ops.add(ops.multiply(normal, constant(gains)), constant(biases))

    def normed_linear(self, x: Node, norm: str, names: str | Sequence[str]) -> Node:
        """`x` through a layer norm and then through linear layers, with what is rounded to int8 evened out."""
        share = self.share(norm)
        return self.linear(self.layer_norm(x, norm, share=share), names, share=share)

    def share(self, norm: str) -> npt.NDArray[np.float32] | None:
        """By what the outputs of a layer norm are divided, and the weights that take them multiplied.

        A few gains are many times as large as the others, whose products would be rounded as coarsely. With the square
        root of its gain taken from each, outputs and weights are about equally uneven; this is the idea of
        https://arxiv.org/abs/2211.10438, which measures outputs. No share is below a tenth of the middle one. None
        where nothing is rounded to int8.
        """
        if not self._plan.has_int8_weights:
            return None
        share: npt.NDArray[np.float32] = np.sqrt(np.abs(self.array(f"{norm}.weight")))
        share = np.maximum(share, np.float32(0.1) * np.median(share))
        return np.where(share > 0, share, np.float32(1))

    def mlp(self, x: Node, block: str) -> Node:
        """The feed-forward part of a block, its layer norm and residual included."""
        h = self.linear(self.layer_norm(x, f"{block}.mlp_ln"), f"{block}.mlp.0")
        return ops.add(x, self.linear(ops.gelu(h, "erf"), f"{block}.mlp.2"))

    def _bias(self, name: str) -> npt.NDArray[np.float32]:
        if f"{name}.bias" in self._weights:
            return self.array(f"{name}.bias")
        return np.zeros(self._weights[f"{name}.weight"].shape[0], np.float32)


def constant(array: npt.NDArray[Any]) -> Node:
    """A constant with the values of `array`."""
    return ops.constant(array)


def split_heads(x: Node, n_head: int, order: Sequence[int] = HEADS_FIRST) -> Node:
    """(n, n_ctx, n_head * n_width) to four axes n, n_ctx, n_head, n_width, then transposed to `order`."""
    heads = ops.reshape(x, constant(np.array([0, 0, n_head, -1])), True)
    return ops.transpose(heads, constant(np.array(order)))


def merge_heads(x: Node, n_state: int) -> Node:
    """(n, n_head, n_ctx, n_width) to (n, n_ctx, n_head * n_width)."""
    rows = ops.transpose(x, constant(np.array(HEADS_FIRST)))
    return ops.reshape(rows, constant(np.array([0, 0, n_state])), True)


def thirds(x: Node) -> list[Node]:
    """Query, key and value from their outputs side by side on the last axis."""
    return list(ops.split(x, constant(np.array(-1)), 3).outputs())


def parameter(name: str, shape: Sequence[int], element_type: Any = None) -> Any:
    """An input of the graph; float32 unless another type is given."""
    made = ops.parameter(list(shape), element_type or ov.Type.f32, name)
    made.output(0).set_names({name})
    return made


def result(node: Node, name: str, element_type: Any) -> Any:
    """An output of the graph, in this type; None leaves it as it is."""
    if element_type not in (None, ov.Type.f32):
        node = ops.convert(node, element_type)
    made = ops.result(node)
    made.output(0).set_names({name})
    return made


def as_float(parameter: Any) -> Node:
    """The graph is written in float32; the plug-in drops this when it computes in the type itself."""
    return parameter if parameter.get_element_type() == ov.Type.f32 else ops.convert(parameter, ov.Type.f32)
