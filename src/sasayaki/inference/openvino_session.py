"""A running decode on OpenVINO: which graph takes the next call, and where the rows are in its cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import ModelDimensions, Weights
from sasayaki.inference.base import Digest, Row
from sasayaki.inference.openvino_audio import Audience, OpenVINOFeatures, Seating, own
from sasayaki.inference.openvino_cache import CompiledGraph
from sasayaki.inference.openvino_runtime import ov, run
from sasayaki.inference.rows import RowLayout

_COPY_STEPS = 16
"""Steps that an idle window may take part in for each window in use, before those in use are copied together.

On base, a window costs about 0.7 ms in a step, and copying one 5 to 11 ms. Waiting until idle windows have cost as much
as the copy at most doubles the cost of the better choice, whenever the others end.
"""


@dataclass(frozen=True, slots=True)
class DecoderGraphs:
    """The graphs of a decoder.

    Attributes:
        general: takes any call, `build_decoder`.
        step: of a number of rows, `build_step`; None where there is to be none.
        head: from their outputs to logits, `build_head`.
    """

    general: CompiledGraph
    step: Callable[[int], CompiledGraph | None]
    head: CompiledGraph


class OpenVINOSession:
    """A running decode: an infer request whose state is the cache, where the rows are in it, and one of the head.

    A decode of one window goes on in the graph for steps of its number of rows, if its second call can. The cache
    moves there, and back as soon as a call is of another kind; then it stays.
    """

    def __init__(self, graphs: DecoderGraphs, embedding: Embedding, dims: ModelDimensions) -> None:
        self._graphs = graphs
        self._head = graphs.head.create_infer_request()
        self._embedding = embedding
        self._dims = dims
        self._layout = RowLayout.empty()
        self._request: Any = None
        self._n_stepping = 0
        self._audience: Audience | None = None
        self._n_idled = 0
        self._is_closed = False

    def forward(self, rows: Sequence[Row]) -> npt.NDArray[np.float32]:
        """Feed the new tokens of all rows and return logits, (n_batch, n_read, n_vocab) float32.

        The array is overwritten by the next call. See `DecoderSession.forward`.

        Raises:
            RuntimeError: the session is closed.
            ValueError: rows that cannot be, or that listen to windows of different lengths.
        """
        self._call(rows)
        self._head.set_tensor("states", self._request.get_tensor("states"))
        run(self._head)
        logits: npt.NDArray[np.float32] = self._head.get_tensor("logits").data[..., : self._dims.n_vocab]
        return logits

    def look(self, row: Row, heads: Sequence[tuple[int, int]]) -> npt.NDArray[np.float32]:
        """Feed the first tokens of a row, and return where (layer, head) pairs look, (n_head, n_tokens, n_ctx) float32.

        Raises:
            ValueError: a row that cannot be.
        """
        pairs = sorted(set(heads))
        wanted = {f"heads.{layer}": np.array([head for at, head in pairs if at == layer]) for layer, _ in pairs}
        self._call([row], **wanted)
        weights: npt.NDArray[np.float32] = self._request.get_tensor("weights").data[0]
        return weights[[pairs.index(pair) for pair in heads]]

    def digest(self) -> Digest:
        """Of the logits that the last call of `forward` has returned. See `DigestingSession`."""
        return Digest(*(self._head.get_tensor(name).data for name in ("norms", "tokens", "likeliest")))

    def close(self) -> None:
        """Free the cache. Safe to call twice; `forward` afterwards raises RuntimeError."""
        self._is_closed = True
        self._request = self._head = self._audience = None

    def _call(self, rows: Sequence[Row], **inputs: npt.NDArray[Any]) -> None:
        """Run the decoder's blocks on the new tokens of all rows, with more inputs of the graph."""
        if self._is_closed:
            raise RuntimeError("the session is closed; start a new one")
        layout = self._layout.advance(rows, self._dims)
        audios = [own(row.audio) for row in rows]
        audience = self._gather(set(audios))
        self._take(layout, audience)
        self._feed(layout, None if self._n_stepping else audience.seat(audios))
        for name, array in inputs.items():
            self._request.set_tensor(name, ov.Tensor(array))
        run(self._request)
        self._layout = layout

    def _gather(self, audios: set[OpenVINOFeatures]) -> Audience:
        """The windows that are bound, unless some are missing or too many others are among them."""
        bound = self._audience
        if bound is not None and audios <= set(bound.audios):
            n_idle = len(bound.audios) - len(audios)
            self._n_idled += n_idle
            if not n_idle or self._n_idled < _COPY_STEPS * len(audios):
                return bound
        self._n_idled = 0
        return Audience.gather(audios)

    def _take(self, layout: RowLayout, audience: Audience) -> None:
        """Have the request that this call is for, with the cache and the windows in it.

        An empty cache is a new request: after `reset_state` the plug-in fills a larger batch with NaN.
        """
        before = self._request
        if not layout.n_past:
            self._request, self._n_stepping = self._graphs.general.create_infer_request(), 0
        else:
            self._change_graph(layout, audience)
        if self._request is not before or audience is not self._audience:
            for name, tensor in audience.cross.items():
                self._request.set_tensor(name, tensor)
        self._audience = audience

    def _change_graph(self, layout: RowLayout, audience: Audience) -> None:
        """Go on with steps of as many rows, or leave them, if this is the call to do so."""
        n_rows = len(layout.lengths) if self._is_step(layout, audience) else 0
        is_second = not self._layout.n_past
        if n_rows == self._n_stepping or not (self._n_stepping or is_second):
            return
        graph = self._graphs.general if self._n_stepping else self._graphs.step(n_rows)
        if graph is not None:
            self._n_stepping = 0 if self._n_stepping else n_rows
            self._request = _moved(self._request, graph.create_infer_request())

    def _is_step(self, layout: RowLayout, audience: Audience) -> bool:
        n_new: int = layout.tokens.shape[1]
        n_read: int = layout.read.shape[1]
        return len(audience.audios) == n_new == n_read == 1

    def _feed(self, layout: RowLayout, seating: Seating | None) -> None:
        inputs = {
            "embedded": self._embedding(layout),
            "mask": np.where(layout.mask, np.float32(0), np.float32(-np.inf))[:, None],
            "sources": layout.sources.astype(np.int32),
        }
        if seating:
            n_new = layout.tokens.shape[1]
            columns = np.arange(n_new)
            inputs["read"] = layout.read
            inputs["seats"] = (seating.seats[:, :, None] * n_new + columns).reshape(len(seating.seats), -1)
            inputs["places"] = seating.places[:, None] * n_new + columns
        for name, array in inputs.items():
            self._request.set_tensor(name, ov.Tensor(array))


class Embedding:
    """Looks tokens and positions up in the checkpoint's own tables, which may be of a memory map."""

    def __init__(self, weights: Weights) -> None:
        self._tokens = weights["decoder.token_embedding.weight"]
        self._positions = weights["decoder.positional_embedding"]

    def __call__(self, layout: RowLayout) -> npt.NDArray[np.float32]:
        """What the first block reads, (n_batch, n_new, n_text_state) float32."""
        tokens = self._tokens[layout.tokens].astype(np.float32)
        embedded: npt.NDArray[np.float32] = tokens + self._positions[layout.positions].astype(np.float32)
        return embedded


def _moved(source: Any, target: Any) -> Any:
    """`target`, with the cache of `source`."""
    states = {state.name: state for state in source.query_state()}
    for state in target.query_state():
        state.state = states[state.name].state
    return target
