"""Three graphs of a Whisper model in OpenVINO: encoder, projection of its output, and the head behind the decoder.

Weight names and what each layer computes are openai/whisper's; the shapes of inputs and outputs are stated at
each builder. A dimension of -1 may differ from call to call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.inference.openvino_layers import (
    Layers,
    Node,
    constant,
    merge_heads,
    parameter,
    result,
    split_heads,
    thirds,
)
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, ENCODER_GROUPS, PrecisionPlan, ops, ov

N_LIKELIEST = 64
"""Tokens in a digest: candidates, suppressed tokens and timestamps among them, are hardly ever more."""

_GROUP = 64
"""Neighbouring logits of which the largest is found first."""


def build_encoder(checkpoint: Checkpoint, plan: PrecisionPlan, n_ctx: int = -1) -> Any:
    """A mel window (1, n_mels, 2 * n_ctx) to features (1, n_ctx, n_audio_state), both float32.

    With -1, n_ctx may differ from call to call, and there are two more inputs: positions (n_ctx,) int64 and their
    log_shares (1, 1, 1, n_ctx) float32. Fixed, a pass of base takes 0.95 of the time and 20 MB less.
    """
    dims = checkpoint.dims
    layers = Layers(checkpoint.weights, plan, ENCODER_GROUPS)
    mel = parameter("mel", [1, dims.n_mels, max(2 * n_ctx, -1)])
    x = _conv(layers, mel, "encoder.conv1", stride=1)
    x = _conv(layers, x, "encoder.conv2", stride=2)
    x = ops.transpose(x, constant(np.array([0, 2, 1])))
    table = layers.array("encoder.positional_embedding")
    inputs, shares = [mel], []
    if n_ctx > 0:
        x = ops.add(x, constant(table[:n_ctx]))
    else:
        inputs += [parameter("positions", [-1], ov.Type.i64), parameter("log_shares", [1, 1, 1, -1])]
        shares = inputs[2:]
        x = ops.add(x, ops.gather(constant(table), inputs[1], constant(np.array(0))))
    for layer in range(dims.n_audio_layer):
        block = f"encoder.blocks.{layer}"
        names = [f"{block}.attn.{part}" for part in ("query", "key", "value")]
        qkv = layers.normed_linear(x, f"{block}.attn_ln", names)
        q, k, v = (split_heads(part, dims.n_audio_head) for part in thirds(qkv))
        attended = merge_heads(ops.scaled_dot_product_attention(q, k, v, *shares), dims.n_audio_state)
        x = ops.add(x, layers.linear(attended, f"{block}.attn.out"))
        x = layers.mlp(x, block)
    features = layers.layer_norm(x, "encoder.ln_post")
    return ov.Model([result(features, "features", ov.Type.f32)], inputs, "encoder")


def build_projection(checkpoint: Checkpoint, plan: PrecisionPlan, n_ctx: int = -1) -> Any:
    """Features (1, n_ctx, n_audio_state) float32 to the keys and values of every decoder layer.

    Outputs are keys.0, values.0, keys.1, … in the type of the plan. Keys are scaled and transposed,
    (1, n_head, n_width, n_ctx); values are (1, n_head, n_ctx, n_width). With -1, n_ctx may differ from call to call.
    """
    dims = checkpoint.dims
    layers = Layers(checkpoint.weights, plan, ENCODER_GROUPS)
    features = parameter("features", [1, n_ctx, dims.n_audio_state])
    share = layers.share("encoder.ln_post")
    x = features if share is None else ops.divide(features, constant(share))
    scale = (dims.n_text_state // dims.n_text_head) ** -0.5
    results = []
    for layer in range(dims.n_text_layer):
        name = f"decoder.blocks.{layer}.cross_attn"
        keys = layers.linear(x, f"{name}.key", scale=scale, share=share)
        keys = split_heads(keys, dims.n_text_head, (0, 2, 3, 1))
        values = split_heads(layers.linear(x, f"{name}.value", share=share), dims.n_text_head)
        results.append(result(keys, f"keys.{layer}", plan.element_type))
        results.append(result(values, f"values.{layer}", plan.element_type))
    return ov.Model(results, [features], "projection")


def build_head(checkpoint: Checkpoint, plan: PrecisionPlan) -> Any:
    """The decoder's outputs, states (n_batch, n_read, n_text_state) float32, to logits and their `Digest`.

    Outputs: logits (n_batch, n_read, at least n_vocab), those behind the vocabulary are far below all others; norms
    (n_batch, n_read); tokens int32 and likeliest, both (n_batch, n_read, `N_LIKELIEST`); float32 unless said.
    """
    dims = checkpoint.dims
    layers = Layers(checkpoint.weights, plan, DECODER_GROUPS)
    states = parameter("states", [-1, -1, dims.n_text_state])
    padding = -dims.n_vocab % _GROUP
    matrix = np.pad(layers.array("decoder.token_embedding.weight"), ((0, padding), (0, 0)))
    bias = np.zeros(dims.n_vocab + padding, np.float32)
    bias[dims.n_vocab :] = np.finfo(np.float32).min
    share = layers.share("decoder.ln")
    if share is not None:
        matrix *= share
    x = layers.layer_norm(states, "decoder.ln", share=share)
    logits = ops.matmul(x, layers.matrix(matrix), False, True)
    logits = ops.add(logits, constant(bias))

    groups = ops.reshape(logits, constant(np.array([0, 0, -1, _GROUP])), True)
    last = constant(np.array([-1]))
    peaks = ops.reduce_max(groups, last, False)
    peak = ops.reduce_max(peaks, last, True)
    sums = ops.reduce_sum(ops.exp(ops.subtract(logits, peak)), last, False)
    norms = ops.add(ops.log(sums), ops.squeeze(peak, last))
    n_best = min(N_LIKELIEST, (dims.n_vocab + padding) // _GROUP)
    outputs = {"logits": logits, "norms": norms, **_likeliest(groups, peaks, n_best)}
    return ov.Model([result(node, name, None) for name, node in outputs.items()], [states], "head")


def _likeliest(groups: Node, peaks: Node, n_best: int) -> dict[str, Node]:
    """The `N_LIKELIEST` largest logits and their tokens; they are in the `n_best` groups with the highest peaks."""
    axis, size = constant(np.array(2, np.int32)), constant(np.array(_GROUP, np.int32))
    best = _largest(peaks, n_best).output(1)
    entries = ops.reshape(ops.gather(groups, best, axis, 2), constant(np.array([0, 0, -1])), True)
    found = _largest(entries, N_LIKELIEST)
    places = ops.divide(found.output(1), size)
    inner = ops.subtract(found.output(1), ops.multiply(places, size))
    tokens = ops.add(ops.multiply(ops.gather(best, places, axis, 2), size), inner)
    return {"tokens": tokens, "likeliest": found.output(0)}


def _largest(x: Node, number: int) -> Node:
    """The largest entries of the last axis, largest first, and their places."""
    count = constant(np.array(number, np.int32))
    return ops.topk(x, count, -1, "max", "value", index_element_type=ov.Type.i32)


def _conv(layers: Layers, x: Node, name: str, *, stride: int) -> Node:
    """Convolution of width 3 with a zero frame on either side, then GELU; x is (n_audio, n_in, n_frames)."""
    y = ops.convolution(x, constant(layers.array(f"{name}.weight")), [stride], [1], [1], [1])
    bias = layers.array(f"{name}.bias")[None, :, None]
    return ops.gelu(ops.add(y, constant(bias)), "erf")
