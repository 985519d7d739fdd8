"""The engine for processors: Whisper on OpenVINO, compiled from canonical weights when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, Weights
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array, AudioFeatures, DecoderSession, Digest, Row
from sasayaki.inference.openvino_alignment import build_alignment
from sasayaki.inference.openvino_audio import Audience, EncodedBatch, OpenVINOFeatures, Seating
from sasayaki.inference.openvino_cache import CompiledGraph, GraphStore
from sasayaki.inference.openvino_graph import build_decoder, build_encoder, build_head, build_projection
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, ENCODER_GROUPS, Int8Groups, PrecisionPlan, ov
from sasayaki.inference.rows import RowLayout
from sasayaki.inference.threads import limited_threads

_COPY_STEPS = 16
"""Steps that an idle window may take part in for each window in use, before those in use are copied together.

On base, a window costs about 0.7 ms in a step, and copying one 5 to 11 ms. Waiting until idle windows have cost as much
as the copy at most doubles the cost of the better choice, whenever the others end.
"""


class OpenVINOInference:
    """A Whisper model on the CPU. May be shared by threads; arrays in and out are NumPy's.

    Args:
        checkpoint: the model; its weights are kept and must stay readable.
        precision: "float32" follows the weights exactly; "bfloat16" computes in bfloat16; "int8" also stores
            weights as int8; "auto" takes the fastest that the processor has.
        threads: number of threads; None takes as many as `limited_threads` leaves, without a limit OpenVINO's choice.
        store: where compiled graphs are kept; None keeps none.

    Raises:
        OptionError: unknown precision, or fewer than one thread.
        BackendError: the processor lacks the precision.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        precision: str = "auto",
        threads: int | None = None,
        store: GraphStore | None = None,
    ) -> None:
        if threads is not None and threads < 1:
            raise OptionError(f"threads must be at least 1 or None, got {threads}")
        plan = PrecisionPlan.choose(precision)
        self._dims = checkpoint.dims
        self._plan = plan
        self._checkpoint = checkpoint
        self._threads = limited_threads() if threads is None else threads
        self._store = store
        self._encoder = self._graph("encoder", build_encoder, ENCODER_GROUPS)
        self._projection = self._graph("projection", build_projection, ENCODER_GROUPS)
        self._decoder = self._graph("decoder", build_decoder, DECODER_GROUPS)
        self._head = self._graph("head", build_head, DECODER_GROUPS, plan.of_head())
        self._embedding = _Embedding(checkpoint.weights)
        self._alignments: dict[tuple[tuple[int, int], ...], CompiledGraph] = {}

    @property
    def dims(self) -> ModelDimensions:
        """Sizes of the model."""
        return self._dims

    def encode(self, mel: Array) -> list[AudioFeatures]:
        """Encode log-mel windows, (n_audio, n_mels, n_frames) float, into one AudioFeatures each.

        Windows shorter than 2 * n_audio_ctx frames are encoded with a shorter context, not padded.

        Raises:
            ValueError: the shape is another one.
        """
        mel = np.ascontiguousarray(mel, np.float32)
        dims = self._dims
        if mel.ndim != 3 or mel.shape[1] != dims.n_mels or not 1 <= mel.shape[2] <= 2 * dims.n_audio_ctx:
            raise ValueError(
                f"expected mel spectrograms of shape (n_audio, {dims.n_mels}, 1 … {2 * dims.n_audio_ctx}), "
                f"got {mel.shape}"
            )
        n_ctx = (mel.shape[2] + 1) // 2
        features = np.empty((len(mel), n_ctx, dims.n_audio_state), np.float32)
        with self._encoder.request() as request:
            for index in range(len(mel)):  # several in one call are no faster, and need memory for each
                one = slice(index, index + 1)
                request.set_tensor("mel", ov.Tensor(mel[one], shared_memory=True))
                request.set_tensor("features", ov.Tensor(features[one], shared_memory=True))
                _run(request)
        return self._project(features)

    def wrap(self, features: Array) -> list[AudioFeatures]:
        """Take encoder outputs made earlier, (n_audio, n_ctx, n_audio_state) float, as AudioFeatures.

        Raises:
            ValueError: the shape is another one.
        """
        features = np.array(features, np.float32, order="C")
        dims = self._dims
        if (
            features.ndim != 3
            or features.shape[2] != dims.n_audio_state
            or not 1 <= features.shape[1] <= dims.n_audio_ctx
        ):
            raise ValueError(
                f"expected encoder outputs of shape (n_audio, 1 … {dims.n_audio_ctx}, {dims.n_audio_state}), "
                f"got {features.shape}"
            )
        return self._project(features)

    def start(self) -> DecoderSession:
        """Begin a decode with an empty cache."""
        return OpenVINOSession(self._decoder, self._head, self._embedding, self._dims)

    def cross_attention(
        self, audio: AudioFeatures, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> npt.NDArray[np.float32]:
        """Weights of the heads' cross-attention, (n_head, n_tokens, n_ctx) float32.

        See `AlignmentInference`. The first call for some heads builds a graph for them.

        Raises:
            ValueError: tokens that the decoder cannot be fed, or audio of another engine.
        """
        graph = self._graph(f"alignment {heads}", partial(build_alignment, heads=heads), ENCODER_GROUPS)
        request = self._alignments.setdefault(heads, graph).create_infer_request()
        layout = RowLayout.empty().advance([Row(audio, tokens)], self._dims)
        request.set_tensor("embedded", ov.Tensor(self._embedding(layout)))
        cross = Audience.gather({_own(audio)}).cross
        for layer in range(max(layer for layer, _ in heads) + 1):
            for name in (f"keys.{layer}", f"values.{layer}"):
                request.set_tensor(name, cross[name])
        _run(request)
        return np.array(request.get_tensor("weights").data)

    def _graph(
        self,
        name: str,
        build: Callable[[Checkpoint, PrecisionPlan], Any],
        groups: Int8Groups,
        plan: PrecisionPlan | None = None,
    ) -> CompiledGraph:
        plan = plan or self._plan
        options = plan.compile_options(self._threads, groups)
        return CompiledGraph(name, partial(build, self._checkpoint, plan), options, self._store)

    def _project(self, features: npt.NDArray[np.float32]) -> list[AudioFeatures]:
        n_audio, n_ctx, _ = features.shape
        if not n_audio:
            return []
        n_head = self._dims.n_text_head
        n_width = self._dims.n_text_state // n_head
        cross = {}
        with self._projection.request() as request:
            request.set_tensor("features", ov.Tensor(features, shared_memory=True))
            for layer in range(self._dims.n_text_layer):
                for name, shape in (("keys", [n_width, n_ctx]), ("values", [n_ctx, n_width])):
                    tensor = ov.Tensor(self._plan.element_type, ov.Shape([n_audio, n_head, *shape]))
                    request.set_tensor(f"{name}.{layer}", tensor)
                    cross[f"{name}.{layer}"] = tensor
            _run(request)
        return list(EncodedBatch(features, cross).members())


class OpenVINOSession:
    """A running decode: an infer request whose state is the cache, where the rows are in it, and one of the head."""

    def __init__(
        self, decoder: CompiledGraph, head: CompiledGraph, embedding: _Embedding, dims: ModelDimensions
    ) -> None:
        self._decoder = decoder
        self._head = head.create_infer_request()
        self._embedding = embedding
        self._dims = dims
        self._layout = RowLayout.empty()
        self._request: Any = None
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
        if self._is_closed:
            raise RuntimeError("the session is closed; start a new one")
        layout = self._layout.advance(rows, self._dims)
        audios = [_own(row.audio) for row in rows]
        audience = self._attend(set(audios), is_fresh=layout.n_past == 0)
        self._feed(layout, audience.seat(audios))
        _run(self._request)
        self._head.set_tensor("states", self._request.get_tensor("states"))
        _run(self._head)
        self._layout = layout
        logits: npt.NDArray[np.float32] = self._head.get_tensor("logits").data[..., : self._dims.n_vocab]
        return logits

    def digest(self) -> Digest:
        """Of the logits that the last call of `forward` has returned. See `DigestingSession`."""
        return Digest(*(self._head.get_tensor(name).data for name in ("norms", "tokens", "likeliest")))

    def close(self) -> None:
        """Free the cache. Safe to call twice; `forward` afterwards raises RuntimeError."""
        self._is_closed = True
        self._request = self._head = self._audience = None

    def _attend(self, audios: set[OpenVINOFeatures], *, is_fresh: bool) -> Audience:
        """Bind the keys and values of the audios when they or the request are new, or too many others are bound.

        An empty cache is a new request: after `reset_state` the plug-in fills a larger batch with NaN.
        """
        audience = self._audience
        if audience is None or not self._may_keep(audience, audios):
            audience = Audience.gather(audios)
            self._n_idled = 0
        if is_fresh:
            self._request = self._decoder.create_infer_request()
        if is_fresh or audience is not self._audience:
            for name, tensor in audience.cross.items():
                self._request.set_tensor(name, tensor)
        self._audience = audience
        return audience

    def _may_keep(self, audience: Audience, audios: set[OpenVINOFeatures]) -> bool:
        """Whether the windows that are bound serve `audios`, with few enough steps of idle ones so far."""
        if not audios <= set(audience.audios):
            return False
        n_idle = len(audience.audios) - len(audios)
        self._n_idled += n_idle
        return not n_idle or self._n_idled < _COPY_STEPS * len(audios)

    def _feed(self, layout: RowLayout, seating: Seating) -> None:
        n_new = layout.tokens.shape[1]
        columns = np.arange(n_new)
        inputs = {
            "embedded": self._embedding(layout),
            "mask": np.where(layout.mask, np.float32(0), np.float32(-np.inf))[:, None],
            "sources": layout.sources.astype(np.int32),
            "read": layout.read,
            "seats": (seating.seats[:, :, None] * n_new + columns).reshape(len(seating.seats), -1),
            "places": seating.places[:, None] * n_new + columns,
        }
        for name, array in inputs.items():
            self._request.set_tensor(name, ov.Tensor(array))


class _Embedding:
    """Looks tokens and positions up in the checkpoint's own tables, which may be of a memory map."""

    def __init__(self, weights: Weights) -> None:
        self._tokens = weights["decoder.token_embedding.weight"]
        self._positions = weights["decoder.positional_embedding"]

    def __call__(self, layout: RowLayout) -> npt.NDArray[np.float32]:
        """What the first block reads, (n_batch, n_new, n_text_state) float32."""
        tokens = self._tokens[layout.tokens].astype(np.float32)
        embedded: npt.NDArray[np.float32] = tokens + self._positions[layout.positions].astype(np.float32)
        return embedded


def _own(audio: AudioFeatures) -> OpenVINOFeatures:
    if not isinstance(audio, OpenVINOFeatures):
        raise ValueError(
            f"expected audio encoded by the OpenVINO engine, got {type(audio).__name__}; "
            "pass its array through wrap() first"
        )
    return audio


def _run(request: Any) -> None:
    """Infer in this thread, without copies of the outputs."""
    request.infer(share_outputs=True)
