"""Log-mel spectrograms as openai/whisper computes them, in NumPy.

How a window of a longer recording is made (one rule for short files, last windows and batches): the mel of
the whole recording is computed once with N_SAMPLES of zeros behind it (`padding`), the frames of the content
are cut out of it, and what is missing to N_FRAMES is filled with 0.0 in the mel domain by `pad_or_trim`. In a
normalised log-mel 0.0 is not silence, but this is openai/whisper's rule, and models are measured with it.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import HOP_LENGTH, N_FFT, N_SAMPLES, SAMPLE_RATE
from sasayaki.audio.load import AudioSource, load_audio
from sasayaki.audio.samples import Samples, WaveformSamples
from sasayaki.audio.waveform import Waveform
from sasayaki.option_values import check_whole_number, required

_BLOCK_FRAMES = 500  # about 5 MB of intermediate results, which fits a processor's cache
_KEPT_BLOCKS = 24  # 2 minutes: shorter recordings are computed once
_SMALLEST_POWER = 1e-10
_DYNAMIC_RANGE = 8.0  # decades of power below the loudest value that are told apart


def log_mel_spectrogram(audio: AudioSource, n_mels: int = 80, padding: int = 0) -> npt.NDArray[np.float32]:
    """Compute the log-mel spectrogram of a recording.

    Hann windows of 25 ms every 10 ms, centred, the ends reflected; the frame behind the last full hop is
    dropped, so n_samples give n_samples // 160 frames. The mel power is limited to 1e-10, taken as log10,
    limited to 8 below the loudest value of the recording, and mapped to (x + 4) / 4.

    Args:
        audio: whatever `load_audio` takes, arrays being at 16 kHz; or a batch (n_audio, n_samples) of
            waveforms of equal length. openai/whisper measures the loudest value over the whole batch; here
            each recording has its own, so that a recording gives the same in a batch as alone.
        n_mels: mel bands: 128 for large-v3 and its relatives, 80 for the other models.
        padding: samples of silence to add at the end.

    Returns:
        (n_mels, n_frames), or (n_audio, n_mels, n_frames) for a batch, float32.

    Raises:
        AudioError: the audio cannot be read or has the wrong form.
        OptionError: `n_mels` or `padding` is no whole number, or below 1 or 0.
    """
    check_whole_number("n_mels", required("n_mels", n_mels), least=1)
    check_whole_number("padding", required("padding", padding), least=0)
    if _is_batch(audio):
        n_audio, n_samples = audio.shape
        log_mels: npt.NDArray[np.float32] = np.empty((n_audio, n_mels, (n_samples + padding) // HOP_LENGTH), np.float32)
        for row, samples in zip(log_mels, audio, strict=True):
            row[:] = _whole(WaveformSamples(load_audio(samples)), n_mels, padding)
        return log_mels
    return _whole(WaveformSamples(load_audio(audio)), n_mels, padding)


_SMALL_PRODUCT = 1 << 18
"""Multiplications up to which NumPy's OpenBLAS stays in one thread. The threads of larger products go on spinning for
some 20 ms, in the way of those of the encoder that comes next."""


def _to_mel(power: npt.NDArray[np.float32], n_mels: int) -> npt.NDArray[np.float32]:
    """Fourier power (n_frames, N_FFT // 2 + 1) to mel power (n_mels, n_frames)."""
    filters = mel_filters(n_mels).T
    n_frames, n_bins = power.shape
    n_block = max(_SMALL_PRODUCT // filters.size, 1)
    blocks = np.pad(power, ((0, -n_frames % n_block), (0, 0))).reshape(-1, n_block, n_bins)
    return (blocks @ filters).reshape(-1, n_mels)[:n_frames].T


@cache
def mel_filters(n_mels: int) -> npt.NDArray[np.float32]:
    """Triangular filters (n_mels, N_FFT // 2 + 1) from Fourier power to mel power, float32, read-only.

    Slaney's mel scale (Auditory Toolbox, 1998) up to 8 kHz: linear to 1 kHz with 3 mels per 200 Hz, above it
    logarithmic with 27 mels per factor 6.4. Each triangle has an area of 1. The same as
    `librosa.filters.mel(sr=16000, n_fft=400)`, which made the filters that openai/whisper ships.
    """
    break_hz, break_mel, octave_mels, octave = 1000.0, 15.0, 27.0, np.log(6.4)
    highest_mel = break_mel + octave_mels * np.log(SAMPLE_RATE / 2 / break_hz) / octave
    mels = np.linspace(0.0, highest_mel, n_mels + 2)
    logarithmic = break_hz * np.exp((mels - break_mel) / octave_mels * octave)
    edges_hz = np.where(mels < break_mel, mels * break_hz / break_mel, logarithmic)
    low, centre, high = edges_hz[:-2, None], edges_hz[1:-1, None], edges_hz[2:, None]

    bins_hz = np.arange(N_FFT // 2 + 1) * (SAMPLE_RATE / N_FFT)
    triangles = np.minimum((bins_hz - low) / (centre - low), (high - bins_hz) / (high - centre))
    filters: npt.NDArray[np.float32] = (np.maximum(triangles, 0.0) * 2.0 / (high - low)).astype(np.float32)
    filters.setflags(write=False)
    return filters


def _whole(samples: Samples, n_mels: int, padding: int) -> npt.NDArray[np.float32]:
    """The log-mel (n_mels, n_frames) of a recording in memory."""
    log_mel = np.empty((n_mels, (samples.n_samples + padding) // HOP_LENGTH), np.float32)
    for begin in range(0, log_mel.shape[1], _BLOCK_FRAMES):
        block = _compute_block(samples, padding, begin, n_mels)
        log_mel[:, begin : begin + block.shape[1]] = block
    return _normalise(log_mel, log_mel.max(initial=-np.inf))


def _is_batch(audio: Any) -> TypeGuard[npt.NDArray[Any]]:
    return getattr(audio, "ndim", 1) == 2 and audio.shape[1] != 1


class LogMel:
    """The log-mel spectrogram of a recording, computed where it is asked for, in constant memory.

    It equals `log_mel_spectrogram(…, padding=N_SAMPLES)` to the last bit: the same blocks of frames are computed, and
    the loudest value is that of the whole recording, found in a first pass over it.

    Args:
        samples: of the recording.
        n_mels: mel bands.
        padding: samples of silence behind the recording.
        check: called now and then in the first pass; what it raises ends that.
    """

    def __init__(
        self,
        samples: Samples,
        n_mels: int = 80,
        *,
        padding: int = N_SAMPLES,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._samples = samples
        self._padding = padding
        self.n_mels = n_mels
        self.n_frames = (samples.n_samples + padding) // HOP_LENGTH
        self._kept: dict[int, npt.NDArray[np.float32]] = {}
        self._peak = np.float32(-np.inf)
        for begin in range(0, self.n_frames, _BLOCK_FRAMES):
            self._peak = max(self._peak, self._block(begin).max())
            if check:
                check()

    def read(self, start: int, end: int) -> npt.NDArray[np.float32]:
        """Frames `start` up to `end` (n_mels, n); frames behind `n_frames` are not there, so n may be less."""
        end = min(end, self.n_frames)
        first = start - start % _BLOCK_FRAMES
        blocks = [self._block(begin) for begin in range(first, end, _BLOCK_FRAMES)]
        if not blocks:
            return np.empty((self.n_mels, 0), np.float32)
        return _normalise(np.concatenate(blocks, axis=1)[:, start - first : end - first], self._peak)

    def _block(self, begin: int) -> npt.NDArray[np.float32]:
        block = self._kept.pop(begin, None)
        if block is None:
            block = _compute_block(self._samples, self._padding, begin, self.n_mels)
        self._kept[begin] = block  # the latest is the last
        if len(self._kept) > _KEPT_BLOCKS:
            del self._kept[next(iter(self._kept))]
        return block


def _compute_block(samples: Samples, padding: int, begin: int, n_mels: int) -> npt.NDArray[np.float32]:
    """Logarithms of mel power (n_mels, n) of a block of frames that starts at frame `begin`."""
    end = min(begin + _BLOCK_FRAMES, (samples.n_samples + padding) // HOP_LENGTH)
    mel = np.zeros((n_mels, end - begin), np.float32)
    n_heard = min(end, _first_silent(samples, padding)) - begin
    if n_heard > 0:
        # In float64, as NumPy before 2.0 does anyway: the same result with all its versions.
        spectrum = np.fft.rfft(_frames(samples, padding, begin, begin + n_heard) * _hann_window())
        power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
        mel[:, :n_heard] = _to_mel(power, n_mels)
    log_mel: npt.NDArray[np.float32] = np.log10(np.maximum(mel, _SMALLEST_POWER))
    return log_mel


def _first_silent(samples: Samples, padding: int) -> int:
    """The first of the frames that hear nothing but padding: at the end of the recording, that is reflected as well."""
    n_all = (samples.n_samples + padding) // HOP_LENGTH
    return n_all if padding < N_FFT else -(-(samples.n_samples + N_FFT // 2) // HOP_LENGTH)


def _normalise(log_mel: npt.NDArray[np.float32], peak: np.float32) -> npt.NDArray[np.float32]:
    """Limit in place to 8 below the loudest value, and map to (x + 4) / 4."""
    np.maximum(log_mel, peak - np.float32(_DYNAMIC_RANGE), out=log_mel)
    log_mel += 4.0
    log_mel /= 4.0
    return log_mel


@cache
def _hann_window() -> npt.NDArray[np.float64]:
    """Periodic Hann window (N_FFT,)."""
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(N_FFT) / N_FFT)


def _frames(samples: Samples, padding: int, begin: int, end: int) -> Waveform:
    """Frames `begin` to `end` (n, N_FFT); frame i is centred on sample i * HOP_LENGTH."""
    first = begin * HOP_LENGTH - N_FFT // 2
    last = (end - 1) * HOP_LENGTH + N_FFT // 2
    is_inside = first >= 0 and last <= samples.n_samples
    stretch = samples.read(first, last) if is_inside else _reflected(samples, padding, first, last)
    frames: Waveform = np.lib.stride_tricks.sliding_window_view(stretch, N_FFT)[::HOP_LENGTH]
    return frames


def _reflected(samples: Samples, padding: int, first: int, last: int) -> Waveform:
    """Samples `first` to `last` of a recording with zeros behind it, reflected at both ends."""
    last_index = samples.n_samples + padding - 1
    index = np.arange(first, last) % (2 * last_index)
    index = np.minimum(index, 2 * last_index - index)
    stretch = np.zeros(len(index), np.float32)
    is_content = index < samples.n_samples
    if is_content.any():
        inside = index[is_content]
        lowest = int(inside.min())
        stretch[is_content] = samples.read(lowest, int(inside.max()) + 1)[inside - lowest]
    return stretch
