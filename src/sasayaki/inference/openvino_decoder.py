"""Graphs of a Whisper decoder in OpenVINO, with its cache as their state: for any call, and for steps of a few rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions
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
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, PrecisionPlan, ops, ov


def build_decoder(checkpoint: Checkpoint, plan: PrecisionPlan) -> Any:
    """One call of the decoder's blocks: new tokens of all rows to what the head reads, with the cache as state.

    Inputs:
        embedded: token plus positional embeddings, (n_batch, n_new, n_text_state) float32. They are looked up
            outside, where the tables may stay in a memory map.
        mask: (n_batch, 1, n_new, n_past + n_new) float32, added to the scores of self-attention.
        sources: line of the cache that each row takes over, (n_batch,) int32.
        read: columns whose outputs are wanted, (n_batch, n_read) int64.
        seats: row that sits at each place of each audio, (n_audio, n_group) int64. Audios with fewer rows
            than others repeat one.
        places: place of each row in the flattened seats, (n_batch,) int64.
        keys.0, values.0, …: outputs of the projection.
        heads.0, …: heads of each layer whose weights are wanted, (n_head,) int64; left out, there are none.

    Outputs:
        states: (n_batch, n_read, n_text_state) float32.
        weights: of the cross-attention of these heads after the softmax, layer by layer, (n_audio, n_heads,
            n_group * n_new, n_ctx) float32.
    """
    return _DecoderBuilder(checkpoint, plan, _AnyRows(checkpoint.dims)).build()


def build_step(checkpoint: Checkpoint, plan: PrecisionPlan, n_rows: int) -> Any:
    """The same for one new token of each of `n_rows` rows of one window; only its length and that of the cache change.

    So the plug-in need not find out sizes while it runs, and rows need no seats: a step of base takes 0.80 (1 row) and
    0.88 (5 rows) of its time.

    Inputs: embedded (n_rows, 1, n_text_state), mask (n_rows, 1, 1, n_past + 1), sources (n_rows,), and those of the
    projection for one audio. Output: states (n_rows, 1, n_text_state) float32.
    """
    return _DecoderBuilder(checkpoint, plan, _FewRows(checkpoint.dims, n_rows)).build()


class _Rows(Protocol):
    """Who is in a call, and how rows come together by their audios.

    Attributes:
        n_batch, n_new, n_audio, n_ctx: sizes; -1 may differ from call to call.
        parameters: inputs that only this kind of call has.
    """

    n_batch: int
    n_new: int
    n_audio: int
    n_ctx: int
    parameters: list[Any]

    def batch(self, sources: Node) -> Node:
        """The number of rows, (1,) int64."""
        ...

    def seated(self, x: Node) -> Node:
        """(n_batch, n_new, n_state) as (n_audio, n_group * n_new, n_state)."""
        ...

    def standing(self, x: Node) -> Node:
        """The way back."""
        ...

    def read(self, x: Node) -> Node:
        """The columns whose outputs are wanted."""
        ...

    def look(self, weights: Node, layer: int) -> list[Node]:
        """Those of (n_audio, n_head, n_group * n_new, n_ctx) that are wanted; none where nobody may ask."""
        ...


class _AnyRows:
    """Any number of rows of any audios."""

    def __init__(self, dims: ModelDimensions) -> None:
        self.n_batch = self.n_new = self.n_audio = self.n_ctx = -1
        self._flat = constant(np.array([-1, dims.n_text_state]))
        self._read = parameter("read", [-1, -1], ov.Type.i64)
        self._seats = parameter("seats", [-1, -1], ov.Type.i64)
        self._places = parameter("places", [-1, -1], ov.Type.i64)
        self.parameters = [self._read, self._seats, self._places]

    def batch(self, sources: Node) -> Node:
        return ops.gather(ops.shape_of(sources), constant(np.array([0])), constant(np.array(0)))

    def seated(self, x: Node) -> Node:
        return ops.gather(ops.reshape(x, self._flat, False), self._seats, constant(np.array(0)))

    def standing(self, x: Node) -> Node:
        return ops.gather(ops.reshape(x, self._flat, False), self._places, constant(np.array(0)))

    def read(self, x: Node) -> Node:
        return ops.gather(x, self._read, constant(np.array(1)), 1)

    def look(self, weights: Node, layer: int) -> list[Node]:
        heads = parameter(f"heads.{layer}", [-1], ov.Type.i64)
        self.parameters.append(heads)
        return [ops.gather(weights, heads, constant(np.array(1)))]


class _FewRows:
    """One new token for each of a fixed number of rows of one window."""

    def __init__(self, dims: ModelDimensions, n_rows: int) -> None:
        self.n_batch, self.n_new, self.n_audio, self.n_ctx = n_rows, 1, 1, -1
        self._n_state = dims.n_text_state
        self.parameters: list[Any] = []

    def batch(self, sources: Node) -> Node:
        del sources
        return constant(np.array([self.n_batch]))

    def seated(self, x: Node) -> Node:
        return self._shaped(x, 1, self.n_batch)

    def standing(self, x: Node) -> Node:
        return self._shaped(x, self.n_batch, 1)

    def read(self, x: Node) -> Node:
        return x

    def look(self, weights: Node, layer: int) -> list[Node]:
        del weights, layer
        return []

    def _shaped(self, x: Node, *shape: int) -> Node:
        return ops.reshape(x, constant(np.array([*shape, self._n_state])), False)


class _DecoderBuilder:
    """Inputs and weights that all blocks of the decoder share while its graph is built."""

    def __init__(self, checkpoint: Checkpoint, plan: PrecisionPlan, rows: _Rows) -> None:
        self._dims = checkpoint.dims
        self._n_width = self._dims.n_text_state // self._dims.n_text_head
        self._layers = Layers(checkpoint.weights, plan, DECODER_GROUPS)
        self._cross_type = plan.element_type
        self._rows = rows
        self._embedded = parameter("embedded", [rows.n_batch, rows.n_new, self._dims.n_text_state])
        self._mask = parameter("mask", [rows.n_batch, 1, rows.n_new, -1])
        self._sources = parameter("sources", [rows.n_batch], ov.Type.i32)
        self._parameters = [self._embedded, self._mask, self._sources]
        self._looked_at: list[Node] = []
        self._sinks: list[Any] = []
        self._empty_cache = self._make_empty_cache()

    def build(self) -> Any:
        x = self._embedded
        for layer in range(self._dims.n_text_layer):
            block = f"decoder.blocks.{layer}"
            x = ops.add(x, self._self_attention(x, layer))
            x = ops.add(x, self._cross_attention(x, layer))
            x = self._layers.mlp(x, block)
        results = [result(self._rows.read(x), "states", ov.Type.f32)]
        if self._looked_at:
            results.append(result(ops.concat(self._looked_at, 1), "weights", ov.Type.f32))
        return ov.Model(results, self._sinks, [*self._parameters, *self._rows.parameters], "decoder")

    def _self_attention(self, x: Node, layer: int) -> Node:
        """The plug-in fuses state, gather, concatenation and attention of this form into one node."""
        name = f"decoder.blocks.{layer}.attn"
        qkv = self._layers.normed_linear(x, f"{name}_ln", [f"{name}.{part}" for part in ("query", "key", "value")])
        q, k, v = (split_heads(part, self._dims.n_text_head) for part in thirds(qkv))
        k = self._append_to_cache(k, f"keys.{layer}")
        v = self._append_to_cache(v, f"values.{layer}")
        attended = ops.scaled_dot_product_attention(q, k, v, self._mask)
        return self._layers.linear(merge_heads(attended, self._dims.n_text_state), f"{name}.out")

    def _append_to_cache(self, new: Node, name: str) -> Node:
        """Past and new keys or values, (n_batch, n_head, n_past + n_new, n_width): the new state."""
        shape = [-1, self._dims.n_text_head, -1, self._n_width]
        info = ov.op.util.VariableInfo()
        info.data_shape, info.data_type = ov.PartialShape(shape), ov.Type.f32
        info.variable_id = f"cache.{name}"
        variable = ov.op.util.Variable(info)
        state = ov.op.read_value(self._empty_cache, variable)
        past = ops.gather(state, self._sources, constant(np.array(0)))
        full = ops.concat([past, new], -2)
        self._sinks.append(ov.op.assign(full, variable))
        return full

    def _make_empty_cache(self) -> Node:
        """Zeros of shape (n_batch, n_head, 0, n_width)."""
        rest = constant(np.array([self._dims.n_text_head, 0, self._n_width]))
        shape = ops.concat([self._rows.batch(self._sources), rest], 0)
        return ops.broadcast(constant(np.array(0, np.float32)), shape)

    def _cross_attention(self, x: Node, layer: int) -> Node:
        """Queries of all rows of an audio are one matrix, so that its keys and values are read once."""
        n_head, n_width, rows = self._dims.n_text_head, self._n_width, self._rows
        name = f"decoder.blocks.{layer}.cross_attn"
        keys = parameter(f"keys.{layer}", [rows.n_audio, n_head, n_width, rows.n_ctx], self._cross_type)
        values = parameter(f"values.{layer}", [rows.n_audio, n_head, rows.n_ctx, n_width], self._cross_type)
        self._parameters += [keys, values]

        queries = split_heads(rows.seated(self._layers.normed_linear(x, f"{name}_ln", f"{name}.query")), n_head)
        weights = ops.softmax(ops.matmul(queries, as_float(keys), False, False), -1)
        self._looked_at += rows.look(weights, layer)
        attended = merge_heads(ops.matmul(weights, as_float(values), False, False), self._dims.n_text_state)
        return self._layers.linear(rows.standing(attended), f"{name}.out")
