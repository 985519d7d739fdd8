"""Bring samples that are already in memory into the one form the models take, and fit arrays to a length.

That form is called a waveform: a NumPy array (n_samples,), float32, one channel, full scale at -1..1.
"""

import logging
import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device

from sasayaki.audio.constants import N_SAMPLES
from sasayaki.errors import AudioError, OptionError
from sasayaki.option_values import check_whole_number, required

logger = logging.getLogger(__name__)

Waveform = npt.NDArray[np.float32]

# Integers are scaled by the range of their type; uint8 has its silence at 128, as in WAV files.
_FULL_SCALE = {"int8": 2.0**7, "uint8": 2.0**7, "int16": 2.0**15, "int32": 2.0**31}
_EXPECTED = "expected a path, bytes, a binary file object or an array of samples"
_LOUDEST_PLAUSIBLE = 8.0  # 18 dB above full scale: lossy codecs overshoot by far less


def as_waveform(samples: npt.ArrayLike) -> Waveform:
    """Convert samples of one channel to a waveform.

    Floats of any width are taken as they are, full scale at -1..1. int16, int32, int8 and uint8 are scaled by
    the range of their type. Shapes (n_samples, 1) and (1, n_samples) count as one channel; more channels are
    refused, because (2, n_samples) may as well be two recordings. Floats far outside -1..1 are kept, with a
    warning in the log: integers kept as floats look like that and give blank or wrong text.

    Args:
        samples: NumPy array, torch tensor on any device, or sequence of floats.

    Returns:
        The waveform (n_samples,), float32. It shares memory with `samples` where nothing had to change.

    Raises:
        AudioError: no samples, another dtype or shape, or a sample that is not finite.
    """
    array = _to_numpy(samples)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise AudioError(
            f"expected samples of one channel, shape (n_samples,), got shape {array.shape}; "
            "pass one channel or the mean of the channels"
        )
    waveform = _to_float32(array)
    _check_range(waveform)
    return waveform


def pad_or_trim(array: Any, length: int = N_SAMPLES, *, axis: int = -1) -> Any:
    """Cut an array, or fill it with zeros at its end, to `length` along one axis.

    Args:
        array: NumPy array or torch tensor: a waveform (n_samples,), a log-mel spectrogram (n_mels, n_frames),
            or a batch of either.
        length: samples or frames wanted.
        axis: the axis to change.

    Returns:
        An array of the same kind, dtype and device; a view of `array` where only a cut was needed.

    Raises:
        AudioError: `array` is neither.
        OptionError: `length` is no whole number of at least 0, or there is no such axis.
    """
    n_axes = len(getattr(array, "shape", ()))
    if n_axes == 0:
        raise AudioError(
            f"expected a NumPy array or torch tensor, such as load_audio gives, got {type(array).__name__}"
        )
    check_whole_number("length", required("length", length), least=0)
    if axis not in range(-n_axes, n_axes):
        raise OptionError(f"axis: expected one of the {n_axes} axes of an array {tuple(array.shape)}, got {axis!r}")
    missing = length - array.shape[axis]
    if missing <= 0:
        index = [slice(None)] * array.ndim
        index[axis] = slice(length)
        return array[tuple(index)]
    shape = list(array.shape)
    shape[axis] = missing
    xp = array_namespace(array)
    return xp.concat([array, xp.zeros(tuple(shape), dtype=array.dtype, device=device(array))], axis=axis)


def _to_numpy(samples: Any) -> npt.NDArray[Any]:
    if hasattr(samples, "detach"):  # a torch tensor, recognised without importing torch
        samples = samples.detach().cpu()
        samples = samples.float() if samples.is_floating_point() else samples  # NumPy has no bfloat16
    try:
        array = np.asarray(samples)
    except (TypeError, ValueError) as error:
        raise AudioError(f"{_EXPECTED}, got {type(samples).__name__}: {error}") from error
    if not hasattr(samples, "dtype") and (array.ndim == 0 or array.dtype.kind not in "biufc"):
        raise AudioError(f"{_EXPECTED}, got {reprlib.repr(samples)}; several recordings are for transcribe_many")
    return array


def _to_float32(array: npt.NDArray[Any]) -> Waveform:
    name = array.dtype.name
    if name in _FULL_SCALE:
        silence = _FULL_SCALE[name] if name == "uint8" else 0.0
        return (array.astype(np.float32) - np.float32(silence)) / np.float32(_FULL_SCALE[name])
    if not np.issubdtype(array.dtype, np.floating):
        raise AudioError(
            f"expected samples of dtype float32, float64, int16, int32, int8 or uint8, got {name}; "
            "convert them to float32 in -1..1"
        )
    with np.errstate(over="ignore"):  # what overflows becomes infinite and is refused below
        return np.ascontiguousarray(array, dtype=np.float32)


def _check_range(waveform: Waveform) -> None:
    if waveform.size == 0:
        return
    lowest, highest = float(waveform.min()), float(waveform.max())  # both are NaN if any sample is
    if not np.isfinite([lowest, highest]).all():
        raise AudioError("expected finite samples, got NaN or infinity; the program that made them has a fault")
    if max(-lowest, highest) > _LOUDEST_PLAUSIBLE:
        logger.warning(
            "samples reach from %g to %g, where -1..1 is full scale; integers kept as floats must be divided "
            "by the range of their type (32768 for 16 bits)",
            lowest,
            highest,
        )
