"""The engine for processors: Whisper on OpenVINO, compiled from canonical weights when first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array, AudioFeatures, DecoderSession, Row
from sasayaki.inference.openvino_audio import EncodedBatch, empty, part_of
from sasayaki.inference.openvino_cache import CompiledGraph, GraphStore
from sasayaki.inference.openvino_decoder import build_decoder, build_step
from sasayaki.inference.openvino_graph import build_encoder, build_head, build_projection
from sasayaki.inference.openvino_runtime import DECODER_GROUPS, ENCODER_GROUPS, Int8Groups, PrecisionPlan, ov, run
from sasayaki.inference.openvino_session import DecoderGraphs, Embedding, OpenVINOSession
from sasayaki.inference.positions import checked_positions, log_shares
from sasayaki.inference.threads import limited_threads

_MOST_STEP_BYTES = 64 << 20
"""Weights of a decoder that may be in memory once more, for steps of a number of rows: tiny's and base's. What those
save is about 0.6 ms a step, whatever the model."""

_TOKENS_TOGETHER = 16
"""Tokens whose attention is asked for are filled up to a multiple of this: a number of them that is new to the plug-in
costs it 5 to 15 ms."""


@dataclass(frozen=True, slots=True)
class _Hearing:
    """The graphs that a window goes through before it is decoded."""

    encoder: CompiledGraph
    projection: CompiledGraph


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
        self._full_window, self._any_window = self._hearing(self._dims.n_audio_ctx), self._hearing(-1)
        self._decoder = DecoderGraphs(
            self._graph("decoder", build_decoder, DECODER_GROUPS),
            self._step,
            self._graph("head", build_head, DECODER_GROUPS, plan.of_head()),
        )
        self._steps: dict[int, CompiledGraph] = {}
        self._embedding = Embedding(checkpoint.weights)

    @property
    def dims(self) -> ModelDimensions:
        """Sizes of the model."""
        return self._dims

    def encode(self, mel: Array, positions: Array | None = None) -> list[AudioFeatures]:
        """Encode log-mel windows, (n_audio, n_mels, n_frames) float, into one AudioFeatures each.

        Windows shorter than 2 * n_audio_ctx frames are encoded with a shorter context, not padded; `positions` tells
        where their frames stand. See `Inference.encode`.

        Raises:
            ValueError: mel or positions cannot be.
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
        places = checked_positions(positions, len(mel), n_ctx, dims.n_audio_ctx)
        hearing = self._hearing_of(mel.shape[2])
        with hearing.encoder.request() as request:
            for index in range(len(mel)):  # several in one call are no faster, and need memory for each
                one = slice(index, index + 1)
                request.set_tensor("mel", ov.Tensor(mel[one], shared_memory=True))
                request.set_tensor("features", ov.Tensor(features[one], shared_memory=True))
                if hearing is self._any_window:
                    request.set_tensor("positions", ov.Tensor(places[index].copy()))
                    request.set_tensor("log_shares", ov.Tensor(log_shares(places[one])[None, None]))
                run(request)
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
        return OpenVINOSession(self._decoder, self._embedding, self._dims)

    def cross_attention(
        self, audio: AudioFeatures, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> npt.NDArray[np.float32]:
        """Weights of the heads' cross-attention, (n_head, n_tokens, n_ctx) float32.

        See `AlignmentInference`.

        Raises:
            ValueError: tokens that the decoder cannot be fed, or audio of another engine.
        """
        n_filling = min(-len(tokens) % _TOKENS_TOGETHER, self._dims.n_text_ctx - len(tokens))
        session = OpenVINOSession(self._decoder, self._embedding, self._dims)
        weights = session.look(Row(audio, (*tokens, *tokens[-1:] * n_filling)), heads)[:, : len(tokens)]
        return weights

    def _hearing(self, n_ctx: int) -> _Hearing:
        """The graphs for windows of this length; -1 is any."""
        encoder, projection = (partial(build, n_ctx=n_ctx) for build in (build_encoder, build_projection))
        return _Hearing(
            self._graph(f"encoder of {n_ctx}", encoder, ENCODER_GROUPS),
            self._graph(f"projection of {n_ctx}", projection, ENCODER_GROUPS),
        )

    def _hearing_of(self, n_frames: int) -> _Hearing:
        return self._full_window if n_frames == 2 * self._dims.n_audio_ctx else self._any_window

    def _step(self, n_rows: int) -> CompiledGraph | None:
        """The graph for steps of so many rows. It has a copy of the decoder's weights, so that these must be few."""
        if self._plan.n_bytes(_n_weights(self._dims)) > _MOST_STEP_BYTES:
            return None
        graph = self._graph(f"step of {n_rows}", partial(build_step, n_rows=n_rows), DECODER_GROUPS)
        return self._steps.setdefault(n_rows, graph)

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
        shapes = {"keys": (n_audio, n_head, n_width, n_ctx), "values": (n_audio, n_head, n_ctx, n_width)}
        cross = {
            f"{name}.{layer}": empty(self._plan.element_type, shape)
            for layer in range(self._dims.n_text_layer)
            for name, shape in shapes.items()
        }
        with self._hearing_of(2 * n_ctx).projection.request() as request:
            for index in range(n_audio):
                request.set_tensor("features", ov.Tensor(features[index : index + 1], shared_memory=True))
                for name, tensor in cross.items():
                    request.set_tensor(name, part_of(tensor, index))
                run(request)
        return list(EncodedBatch(features, cross).members())


def _n_weights(dims: ModelDimensions) -> int:
    """In the matrices of the decoder's blocks that a step reads."""
    return dims.n_text_layer * 14 * dims.n_text_state**2
