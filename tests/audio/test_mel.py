"""Log-mel spectrograms against openai/whisper's values, a slow twin, and the edges of length and level."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.audio import (
    FRAMES_PER_SECOND,
    HOP_LENGTH,
    N_FFT,
    N_FRAMES,
    N_SAMPLES,
    N_SAMPLES_PER_TOKEN,
    SAMPLE_RATE,
    TOKENS_PER_SECOND,
    LogMel,
    load_audio,
    log_mel_spectrogram,
    mel_filters,
    pad_or_trim,
)
from sasayaki.audio import samples as samples_module
from sasayaki.audio.samples import StoredSamples, WaveformSamples
from sasayaki.errors import AudioError, OptionError

TESTS = Path(__file__).parents[1]
CLIP = TESTS / "data" / "pt_pv_num.wav"
GOLDEN = json.loads((TESTS / "golden" / "mel.json").read_text(encoding="utf-8"))


def slow_log_mel(waveform: np.ndarray, n_mels: int, padding: int) -> np.ndarray:
    """The definition, frame by frame in float64."""
    padded = np.pad(np.pad(waveform.astype(np.float64), (0, padding)), N_FFT // 2, mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(N_FFT) / N_FFT)
    starts = range(0, len(padded) - N_FFT + 1, HOP_LENGTH)
    power = np.array([np.abs(np.fft.fft(padded[start : start + N_FFT] * window)[:201]) ** 2 for start in starts])
    log_mel = np.log10(np.maximum(mel_filters(n_mels) @ power[:-1].T, 1e-10))
    return (np.maximum(log_mel, log_mel.max() - 8.0) + 4.0) / 4.0


def speech(n_samples: int) -> np.ndarray:
    return np.resize(load_audio(CLIP), n_samples)


def test_the_constants_fit_together() -> None:
    assert (SAMPLE_RATE, N_FFT, HOP_LENGTH, N_SAMPLES, N_FRAMES) == (16000, 400, 160, 480000, 3000)
    assert (FRAMES_PER_SECOND, TOKENS_PER_SECOND, N_SAMPLES_PER_TOKEN) == (100, 50, 320)
    assert all(isinstance(value, int) for value in (N_FRAMES, FRAMES_PER_SECOND, TOKENS_PER_SECOND))


@pytest.mark.parametrize("facts", GOLDEN, ids=lambda facts: "{file} {n_mels} {padding}".format(**facts))
def test_the_values_are_those_of_openai_whisper(facts: dict[str, Any]) -> None:
    mel = log_mel_spectrogram(TESTS / "data" / facts["file"], facts["n_mels"], facts["padding"])
    assert mel.dtype == np.float32
    assert list(mel.shape) == facts["shape"]
    assert mel.mean() == pytest.approx(facts["mean"], abs=1e-5)
    some = mel[:: facts["band_stride"], :: facts["frame_stride"]]
    np.testing.assert_allclose(some, facts["values"], atol=1e-4)


@pytest.mark.parametrize("n_mels", [80, 128])
@pytest.mark.parametrize(
    ("n_samples", "padding"),
    [(400, 0), (16000, 0), (16001, 0), (16159, 640), (80000, 0), (80123, 480000), (161234, 777), (240, 1000)],
)
def test_blocks_give_what_the_definition_gives(n_samples: int, padding: int, n_mels: int) -> None:
    waveform = speech(n_samples)
    expected = slow_log_mel(waveform, n_mels, padding)
    np.testing.assert_allclose(log_mel_spectrogram(waveform, n_mels, padding), expected, atol=1e-5)


@pytest.mark.parametrize("n_mels", [80, 128])
def test_filters_are_triangles_of_equal_area_that_cover_every_bin(n_mels: int) -> None:
    filters = mel_filters(n_mels)
    assert filters.shape == (n_mels, 201)
    assert filters.dtype == np.float32
    assert (filters >= 0).all()
    assert (filters.max(axis=1) > 0).all()
    assert (filters[:, 1:-1].sum(axis=0) > 0).all()
    wide = filters[n_mels // 2 :]  # narrow triangles hold too few bins for their area to show
    np.testing.assert_allclose(wide.sum(axis=1) * SAMPLE_RATE / N_FFT, 1.0, atol=0.1)
    with pytest.raises(ValueError, match="read-only"):
        filters[0, 0] = 1.0


@pytest.mark.parametrize("n_samples", [0, 1, 159, 160, 161, 199, 200, 201, 319, 320, 399, 400])
@pytest.mark.parametrize("padding", [0, 160, N_SAMPLES])
def test_very_short_audio_is_finite(n_samples: int, padding: int) -> None:
    """B110 and its kind: no crash from nothing up to one Fourier window, with the usual number of frames."""
    mel = log_mel_spectrogram(speech(n_samples), padding=padding)
    assert mel.shape == (80, (n_samples + padding) // HOP_LENGTH)
    assert np.isfinite(mel).all()


@pytest.mark.parametrize("seconds", [1.2, 45.0])
@pytest.mark.parametrize("n_mels", [80, 128])
def test_digital_silence_is_finite_and_even(seconds: float, n_mels: int) -> None:
    """B110: the logarithm of zero is limited to 1e-10, which gives (-10 + 4) / 4."""
    mel = log_mel_spectrogram(np.zeros(round(seconds * SAMPLE_RATE), np.float32), n_mels)
    assert mel.shape == (n_mels, round(seconds * FRAMES_PER_SECOND))
    np.testing.assert_allclose(mel, -1.5, atol=1e-6)


def test_dtype_of_the_input_makes_no_difference() -> None:
    """B106: float64 samples give the same float32 mel."""
    waveform = load_audio(CLIP)
    expected = log_mel_spectrogram(waveform)
    for other in (waveform.astype(np.float64), (waveform * 32768).astype(np.int16), waveform[:, None]):
        mel = log_mel_spectrogram(other)
        assert mel.dtype == np.float32
        np.testing.assert_array_equal(mel, expected)


def test_behind_the_content_a_window_is_filled_with_zeros_in_the_mel_domain() -> None:
    """B112: the declared rule is the reference's: 0.0 behind the content, not the mel of silence."""
    waveform = load_audio(CLIP)
    n_content = len(waveform) // HOP_LENGTH
    mel = log_mel_spectrogram(waveform, padding=N_SAMPLES)
    window = pad_or_trim(mel[:, :n_content], N_FRAMES)
    assert window.shape == (80, N_FRAMES)
    assert not window[:, n_content:].any()
    np.testing.assert_array_equal(window[:, :n_content], mel[:, :n_content])
    batch = log_mel_spectrogram(waveform[None], padding=N_SAMPLES)[:, :, :n_content]
    np.testing.assert_array_equal(pad_or_trim(batch, N_FRAMES)[0], window)


def test_a_batch_gives_what_each_recording_gives_alone() -> None:
    """The loudest value is that of each recording, so a loud neighbour changes nothing."""
    batch = np.stack([speech(90000), speech(90000) * 1e-3, np.zeros(90000, np.float32)])
    mels = log_mel_spectrogram(batch, 128, 320)
    for waveform, mel in zip(batch, mels, strict=True):
        np.testing.assert_array_equal(mel, log_mel_spectrogram(waveform, 128, 320))
    assert log_mel_spectrogram(batch[:0]).shape == (0, 80, 562)
    np.testing.assert_array_equal(log_mel_spectrogram(torch.from_numpy(batch), 128, 320), mels)


def test_paths_bytes_and_samples_are_taken_alike() -> None:
    expected = log_mel_spectrogram(load_audio(CLIP))
    for source in (CLIP, str(CLIP), CLIP.read_bytes(), torch.from_numpy(load_audio(CLIP))):
        np.testing.assert_array_equal(log_mel_spectrogram(source), expected)


def test_the_input_is_not_changed() -> None:
    waveform = load_audio(CLIP)
    before = waveform.copy()
    log_mel_spectrogram(waveform, padding=100)
    np.testing.assert_array_equal(waveform, before)


def test_working_memory_does_not_grow_with_the_audio() -> None:
    waveform = speech(10 * 60 * SAMPLE_RATE)
    tracemalloc.start()
    try:
        mel = log_mel_spectrogram(waveform)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < mel.nbytes + 20e6


@pytest.mark.parametrize("n_mels", [80, 128])
@pytest.mark.parametrize("n_samples", [0, 1, 159, 160, 401, 80000, 80159, 160 * 500 * 3, 1234567])
def test_a_spectrogram_read_in_pieces_is_that_of_the_whole_file(n_samples: int, n_mels: int) -> None:
    """Equal to the last bit, in any order, with its loudest moment anywhere."""
    waveform = speech(n_samples) * np.linspace(0.01, 1, n_samples, dtype=np.float32)
    whole = log_mel_spectrogram(waveform, n_mels, N_SAMPLES)
    mel = LogMel(WaveformSamples(waveform), n_mels)
    assert mel.n_frames == whole.shape[1]
    rng = np.random.default_rng(n_samples)
    starts = [0, mel.n_frames, mel.n_frames - 1, 499, 500, 501, *rng.integers(0, mel.n_frames, 20).tolist()]
    for start in starts:
        end = start + int(rng.integers(0, 3001))
        np.testing.assert_array_equal(mel.read(start, end), whole[:, start:end])


def test_a_long_spectrogram_needs_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """10 minutes here; an hour needs no more (scripts/measure_long.py)."""
    monkeypatch.setattr(samples_module, "_IN_MEMORY", 10**6)
    samples = StoredSamples()
    block = (speech(60 * SAMPLE_RATE) * 32767).astype(np.int16)
    tracemalloc.start()
    try:
        for _ in range(10):
            samples.append(block)
        mel = LogMel(samples)
        for start in range(0, mel.n_frames, 3000):
            assert mel.read(start, start + 3000).shape[1] == 3000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        samples.close()
    assert peak < 20e6, "10 minutes are 19 MB of samples and 19 MB of mel"


def test_the_first_pass_can_be_ended() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LogMel(WaveformSamples(speech(16000)), check=stop)


@pytest.mark.parametrize(
    ("n_mels", "padding", "name"),
    [(0, 0, "n_mels"), (-1, 0, "n_mels"), (80, -1, "padding"), (80, 1.5, "padding"), ("80", 0, "n_mels")],
)
def test_options_out_of_range_are_refused(n_mels: Any, padding: Any, name: str) -> None:
    with pytest.raises(OptionError, match=name):
        log_mel_spectrogram(speech(400), n_mels, padding)


def test_three_dimensions_are_refused() -> None:
    with pytest.raises(AudioError, match="shape"):
        log_mel_spectrogram(np.zeros((1, 2, 400), np.float32))
