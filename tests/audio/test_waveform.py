"""Samples in memory: dtypes, shapes, ranges, and fitting arrays to a length."""

import array
import logging
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from sasayaki.audio import N_SAMPLES, as_waveform, load_audio, pad_or_trim
from sasayaki.errors import AudioError, OptionError

WAVEFORM = np.array([0.0, 0.5, -0.25, -1.0, 0.125], np.float32)


@pytest.mark.parametrize(
    "samples",
    [
        WAVEFORM.astype(np.float64),
        WAVEFORM.astype(np.float16),
        WAVEFORM.astype(">f4"),
        (WAVEFORM * 2.0**15).astype(np.int16),
        (WAVEFORM * 2.0**15).astype(">i2"),
        (WAVEFORM * 2.0**31).astype(np.int32),
        (WAVEFORM * 2.0**7).astype(np.int8),
        (WAVEFORM * 2.0**7 + 128).astype(np.uint8),
        WAVEFORM[:, None],
        WAVEFORM[None, :],
        np.repeat(WAVEFORM, 2)[::2],
        WAVEFORM.tolist(),
        tuple(WAVEFORM.tolist()),
        array.array("h", (WAVEFORM * 2.0**15).astype(np.int16).tolist()),
        torch.from_numpy(WAVEFORM.copy()),
        torch.from_numpy(WAVEFORM.copy()).requires_grad_(),
        torch.from_numpy(WAVEFORM.copy()).double(),
        torch.from_numpy(WAVEFORM.copy()).bfloat16(),
        torch.from_numpy((WAVEFORM * 2.0**15).astype(np.int16)),
    ],
    ids=lambda samples: f"{type(samples).__name__} {getattr(samples, 'dtype', '')}",
)
def test_every_form_of_one_channel_gives_the_same_waveform(samples: Any) -> None:
    """B105: floats are converted, integers scaled by the range of their type, (n, 1) flattened."""
    waveform = load_audio(samples)
    assert waveform.dtype == np.float32
    assert waveform.flags.c_contiguous
    np.testing.assert_array_equal(waveform, WAVEFORM)


@pytest.mark.parametrize("shape", [(2, 16000), (16000, 2), (1, 1, 16000), (0, 2), ()])
def test_other_shapes_are_refused_by_name(shape: tuple[int, ...]) -> None:
    """B105: channels are not guessed."""
    with pytest.raises(AudioError, match=re.escape(f"(n_samples,), got shape {shape}")):
        as_waveform(np.zeros(shape, np.float32))


@pytest.mark.parametrize("dtype", ["int64", "uint16", "uint32", "uint64", "bool", "complex64", "object", "<U3"])
def test_dtypes_without_a_known_range_are_refused_by_name(dtype: str) -> None:
    """B105: int64 may hold samples of any width, so scaling it would be a guess."""
    with pytest.raises(AudioError, match=r"dtype float32.* got"):
        as_waveform(np.zeros(100, dtype))


@pytest.mark.parametrize(
    "source",
    [None, 5, {"array": WAVEFORM}, [[0.0], [0.0, 0.1]], (16000, WAVEFORM), ["a.mp3", "b.mp3"], [None], object()],
)
def test_what_is_no_recording_is_refused_with_what_is_one(source: Any) -> None:
    with pytest.raises(AudioError, match="expected a path, bytes, a binary file object or an array of samples, got"):
        load_audio(source)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_samples_that_are_not_finite_are_refused(value: float) -> None:
    with pytest.raises(AudioError, match="finite"):
        as_waveform(np.array([0.0, value, 0.0]))


def test_integers_kept_as_floats_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    """B105: values up to 32768.0 are no audio in -1..1; they are used as they are, and the log says so."""
    with caplog.at_level(logging.WARNING):
        waveform = as_waveform(WAVEFORM * 32768)
    np.testing.assert_array_equal(waveform, WAVEFORM * 32768)
    assert len(caplog.records) == 1
    assert "32768" in caplog.text


def test_overshoot_of_a_lossy_codec_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    as_waveform(WAVEFORM * 1.5)
    assert not caplog.records


def test_a_float64_chunk_among_float32_chunks_does_not_change_the_dtype() -> None:
    """B106: NumPy widens the joined array; it is narrowed once, here."""
    joined = np.concatenate([WAVEFORM, WAVEFORM.astype(np.float64)])
    assert joined.dtype == np.float64
    waveform = load_audio(joined)
    assert waveform.dtype == np.float32
    np.testing.assert_array_equal(waveform, np.concatenate([WAVEFORM, WAVEFORM]))


def test_a_waveform_is_not_copied() -> None:
    assert np.shares_memory(load_audio(WAVEFORM), WAVEFORM)


def test_an_empty_array_is_an_empty_waveform() -> None:
    assert load_audio(np.zeros(0)).shape == (0,)
    assert load_audio([]).dtype == np.float32


@given(st_numpy.arrays(np.int16, st.integers(0, 50)))
def test_int16_survives_the_way_to_float_and_back(samples: np.ndarray) -> None:
    np.testing.assert_array_equal((as_waveform(samples) * 32768).astype(np.int16), samples)


# --- pad_or_trim ---------------------------------------------------------------------------------


@given(
    shape=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    length=st.integers(0, 8),
    data=st.data(),
)
def test_the_start_is_kept_and_the_rest_is_zero(shape: list[int], length: int, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    samples = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    fitted = pad_or_trim(samples, length, axis=axis)
    n_kept = min(length, shape[axis])
    moved, original = np.moveaxis(fitted, axis, 0), np.moveaxis(samples, axis, 0)
    assert moved.shape == (length, *original.shape[1:])
    assert fitted.dtype == np.float32
    np.testing.assert_array_equal(moved[:n_kept], original[:n_kept])
    assert not moved[n_kept:].any()


def test_the_default_is_one_window() -> None:
    assert pad_or_trim(WAVEFORM).shape == (N_SAMPLES,)
    assert pad_or_trim(np.ones(N_SAMPLES + 1, np.float32)).shape == (N_SAMPLES,)


def test_the_original_is_not_changed() -> None:
    original = WAVEFORM.copy()
    pad_or_trim(original, 9)[:] = 7
    np.testing.assert_array_equal(original, WAVEFORM)


@pytest.mark.parametrize("length", [3, 5, 9])
def test_torch_tensors_stay_torch_tensors(length: int) -> None:
    fitted = pad_or_trim(torch.from_numpy(WAVEFORM.copy()).half(), length)
    assert isinstance(fitted, torch.Tensor)
    assert fitted.dtype == torch.float16
    np.testing.assert_array_equal(fitted.float().numpy(), pad_or_trim(WAVEFORM, length))


@pytest.mark.parametrize("length", [-1, 1.5, "5", None])
def test_a_length_that_is_no_whole_number_from_zero_on_is_refused(length: Any) -> None:
    with pytest.raises(OptionError, match="length must be"):
        pad_or_trim(WAVEFORM, length)


@pytest.mark.parametrize("axis", [1, -2, None, "time"])
def test_an_axis_that_the_array_has_not_is_refused(axis: Any) -> None:
    with pytest.raises(OptionError, match="axis"):
        pad_or_trim(WAVEFORM, 3, axis=axis)


@pytest.mark.parametrize("array", ["talk.mp3", [0.0], None, np.float32(0)])
def test_what_is_no_array_is_refused(array: Any) -> None:
    with pytest.raises(AudioError, match="expected a NumPy array or torch tensor"):
        pad_or_trim(array, 3)
