"""PyTorch engine: the modules of `torch_model` with a preallocated cache, on a CPU or a GPU.

It is the engine for GPUs and the exact reference of the others. Importing this file needs the extra
`sasayaki[torch]`; without it a BackendError names the command that installs it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, check_weights
from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import Array, AudioFeatures, Row
from sasayaki.inference.rows import RowLayout

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise BackendError(
        'the PyTorch engine needs PyTorch, which is not installed; run: pip install "sasayaki[torch]"'
    ) from error

from sasayaki.inference.positions import checked_positions, log_shares
from sasayaki.inference.torch_cache import CrossAttentionCache, SelfAttentionCache, TorchFeatures, send
from sasayaki.inference.torch_layers import Layers
from sasayaki.inference.torch_model import ResidualAttentionBlock, Whisper

_PRECISIONS = ("auto", "float32", "float16", "bfloat16")


class TorchInference:
    """A Whisper model in PyTorch; implements `sasayaki.inference.base.Inference`.

    Args:
        checkpoint: the model, in canonical form.
        device: "cpu", "cuda", "cuda:N", or "auto" for a GPU if there is one.
        precision: type of weights and activations, "float32", "float16" or "bfloat16"; "auto" is float32 on a
            CPU and float16 on a GPU. At float32 on a GPU, PyTorch lets cuDNN round the inputs of the two
            convolutions to TF32 unless `torch.backends.cudnn.allow_tf32` is False, a setting of the process.
        threads: CPU threads of PyTorch; this setting belongs to the process, so None leaves it alone.
        compiled: let `torch.compile` fuse what lies between matrix products. The first window then takes a minute
            longer. It is meant for GPUs; on a CPU it was not faster.

    Raises:
        BackendError: the device is not there, or PyTorch cannot compile.
        CheckpointError: weights are missing, unexpected or misshaped.
        OptionError: a device, precision or number of threads that does not exist.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        device: str = "auto",
        precision: str = "auto",
        threads: int | None = None,
        compiled: bool = False,
    ) -> None:
        if threads is not None and threads < 1:
            raise OptionError(f"threads must be at least 1, got {threads}; None keeps PyTorch's setting")
        chosen = _device(device)
        dtype = _dtype(precision, chosen)
        if threads is not None:
            torch.set_num_threads(threads)
        self.model = _load(checkpoint, chosen, dtype)
        self._layers = Layers.compiled(self.model) if compiled else Layers(self.model.embed_audio)

    @property
    def dims(self) -> ModelDimensions:
        """Sizes of the model."""
        return self.model.dims

    @property
    def device(self) -> torch.device:
        """Where the weights are, and where logits come from."""
        return self.model.device

    def encode(self, mel: Array, positions: Array | None = None) -> list[AudioFeatures]:
        """Encode log-mel windows, (n_audio, n_mels, n_frames) float NumPy or torch, into one item each.

        `positions` tells where frames of shorter windows stand. See `Inference.encode`.

        Raises:
            ValueError: another shape than the model takes, or positions that cannot be.
        """
        places: tuple[Tensor, ...] = ()
        n_ctx = (mel.shape[-1] + 1) // 2
        if positions is not None and n_ctx < self.dims.n_audio_ctx:
            kept = checked_positions(positions, len(mel), n_ctx, self.dims.n_audio_ctx)
            places = tuple(torch.from_numpy(each).to(self.model.device) for each in (kept, log_shares(kept)))
        with torch.no_grad():
            return self._items(self._layers.encode(self._tensor(mel), *places))

    def wrap(self, features: Array) -> list[AudioFeatures]:
        """Take encoder outputs, (n_audio, n_audio_ctx, n_audio_state) float NumPy or torch, as AudioFeatures.

        Raises:
            ValueError: another shape than the model's encoder gives.
        """
        tensor = self._tensor(features)
        n_ctx, n_state = self.dims.n_audio_ctx, self.dims.n_audio_state
        if tensor.ndim != 3 or not 0 < tensor.shape[1] <= n_ctx or tensor.shape[2] != n_state:
            raise ValueError(
                f"expected encoder outputs of shape (n_audio, 1 to {n_ctx}, {n_state}), "
                f"got {tuple(tensor.shape)}; add the first axis for a single window"
            )
        return self._items(tensor)

    def start(self) -> TorchSession:
        """Begin a decode with an empty cache."""
        return TorchSession(self.model, self._layers)

    def cross_attention(
        self, audio: AudioFeatures, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]
    ) -> Tensor:
        """Weights of the heads' cross-attention, (n_head, n_tokens, n_audio_ctx) float32; see `AlignmentInference`.

        Raises:
            ValueError: more tokens than the decoder can be fed.
        """
        scores: list[Tensor] = []
        ids = torch.tensor([tokens], device=self.model.device)
        with torch.no_grad():
            self.model.logits(ids, audio.array[None], scores)
        return torch.stack([scores[layer][0, head].softmax(dim=-1) for layer, head in heads])

    def _tensor(self, array: Array) -> Tensor:
        if not isinstance(array, Tensor):
            array = torch.from_numpy(np.array(array, np.float32))  # a copy: the array may be read-only
        return array.detach().to(self.model.device, self.model.dtype)

    def _items(self, features: Tensor) -> list[AudioFeatures]:
        return [TorchFeatures(item, self.model) for item in features]


class TorchSession:
    """A running decode; implements `sasayaki.inference.base.DecoderSession`."""

    def __init__(self, model: Whisper, layers: Layers) -> None:
        self._decoder: _CachedDecoder | None = _CachedDecoder(model, layers)

    def forward(self, rows: Sequence[Row]) -> Tensor:
        """Feed the new tokens of all rows; logits (n_batch, n_read, n_vocab) float32 on the model's device.

        Raises:
            RuntimeError: the session is closed.
            ValueError: rows that `RowLayout.advance` refuses, or an audio of another engine.
        """
        if self._decoder is None:
            raise RuntimeError("this decoder session is closed; start another one")
        with torch.inference_mode():
            logits = self._decoder.step(rows)
        return logits.to(torch.float32, copy=True)  # an inference tensor could not be changed in place

    def close(self) -> None:
        """Free the cache; safe to call twice."""
        self._decoder = None


class _CachedDecoder:
    """`TextDecoder` over the caches of `torch_cache` instead of hooks."""

    def __init__(self, model: Whisper, layers: Layers) -> None:
        self._model = model
        self._layers = layers
        self._layout = RowLayout.empty()
        self._self_attention = SelfAttentionCache(model)
        self._cross_attention = CrossAttentionCache(model)

    def step(self, rows: Sequence[Row]) -> Tensor:
        """Logits at the read positions, (n_batch, n_read, n_vocab) in the type of the weights."""
        layout = self._layout.advance(rows, self._model.dims)
        audios = [self._own(row.audio) for row in rows]
        self._cross_attention.listen(audios)
        tokens, positions, read = self._place(layout, rows)
        self._layout = layout

        decoder = self._model.decoder
        x = decoder.token_embedding(tokens) + decoder.positional_embedding[positions]
        for index, block in enumerate(decoder.blocks):
            x = self._block(index, block, x)
        return decoder.project(torch.take_along_dim(x, read[..., None], dim=1))

    def _own(self, audio: AudioFeatures) -> TorchFeatures:
        if not isinstance(audio, TorchFeatures) or audio.model is not self._model:
            raise ValueError("a row's audio comes from another engine; encode or wrap it with this one")
        return audio

    def _place(self, layout: RowLayout, rows: Sequence[Row]) -> tuple[Tensor, Tensor, Tensor]:
        """Move the cache along with the rows; tokens, positions and read columns on the device."""
        cache = self._self_attention
        moves = [(row.source, i) for i, row in enumerate(rows) if row.source not in (None, i)]
        sources, targets = np.array(moves, np.int64).reshape(-1, 2).T
        is_token = layout.is_own[:, layout.n_past :]
        columns = np.where(is_token, layout.positions, cache.spare_column)
        arrays = layout.tokens, layout.positions, layout.read, columns, sources, targets
        tokens, positions, read, columns, sources, targets = send(arrays, self._model.device)

        cache.reserve(len(rows))
        if moves:
            cache.move(sources, targets, int(self._layout.lengths.max()))
        cache.place(positions, columns, layout.lengths)
        return tokens, positions, read

    def _block(self, index: int, block: ResidualAttentionBlock, x: Tensor) -> Tensor:
        """Like `ResidualAttentionBlock.forward`."""
        seen = self._self_attention.attend(index, *self._layers.look_back(block, x))
        x, q = self._layers.listen(block, x, seen)
        return self._layers.conclude(block, x, self._cross_attention.attend(index, q))


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise OptionError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N' for the PyTorch engine, got {name!r}")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise BackendError(
            f"device {name!r} is not there: PyTorch {torch.__version__} sees {torch.cuda.device_count()} "
            "GPUs; use device='cpu', or install PyTorch with CUDA"
        )
    return device


def _dtype(precision: str, device: torch.device) -> torch.dtype:
    if precision not in _PRECISIONS:
        raise OptionError(f"precision must be one of {', '.join(_PRECISIONS)}, got {precision!r}")
    if precision == "auto":
        return torch.float32 if device.type == "cpu" else torch.float16
    return getattr(torch, precision)


def _load(checkpoint: Checkpoint, device: torch.device, dtype: torch.dtype) -> Whisper:
    """The model with its weights on `device`, copied there one at a time."""
    check_weights(checkpoint.dims, checkpoint.weights, checkpoint.source or "the checkpoint")
    with torch.device("meta"):
        model = Whisper(checkpoint.dims)
    state = {
        name: torch.from_numpy(np.array(weight, np.float32, order="C")).to(device, dtype)
        for name, weight in checkpoint.weights.items()
    }
    model.load_state_dict(state, strict=True, assign=True)
    model.requires_grad_(False).eval()
    return model
