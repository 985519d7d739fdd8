"""The samples of a recording for reading any range of them, in constant memory however long it is.

Recordings are decoded once, into a passing file that holds 2 bytes a sample: 115 MB an hour. What is short stays in
memory.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import closing
from tempfile import SpooledTemporaryFile
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from sasayaki.audio.load import AudioSource, EncodedAudio, decode_blocks, decode_channels, is_encoded
from sasayaki.audio.waveform import Waveform, as_waveform

_IN_MEMORY = 4 * 2**20  # bytes, 2 minutes


class Samples(Protocol):
    """A recording at 16 kHz, one channel."""

    @property
    def n_samples(self) -> int:
        """Its length."""
        ...

    def read(self, first: int, last: int) -> Waveform:
        """Samples `first` up to `last`, float32 in -1..1; both lie within the recording."""
        ...

    def close(self) -> None:
        """Let go of it; safe to call twice."""
        ...


class WaveformSamples:
    """Samples that are in memory already."""

    def __init__(self, waveform: Waveform) -> None:
        self._waveform = waveform

    @property
    def n_samples(self) -> int:
        """Their number."""
        return len(self._waveform)

    def read(self, first: int, last: int) -> Waveform:
        """A view of them."""
        return self._waveform[first:last]

    def close(self) -> None:
        """Forget them."""
        self._waveform = self._waveform[:0]


class StoredSamples:
    """Samples of 16 bits in a passing file, which has no name that others could find, and goes when it is closed."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (closed below)
        self._close = weakref.finalize(self, self._file.close)
        self._n_samples = 0
        self._reading = threading.Lock()

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        return self._n_samples

    def append(self, block: npt.NDArray[np.int16]) -> None:
        """Add samples (n,) at the end."""
        self._file.seek(2 * self._n_samples)
        self._file.write(block.tobytes())
        self._n_samples += len(block)

    def read(self, first: int, last: int) -> Waveform:
        """Samples from the file; several threads may read."""
        with self._reading:
            self._file.seek(2 * first)
            data = self._file.read(2 * (last - first))
        block = np.frombuffer(data, np.int16)
        return block.astype(np.float32) / np.float32(32768)

    def close(self) -> None:
        """Delete the file."""
        self._close()


def open_samples(source: AudioSource, *, split: bool = False, check: Callable[[], None] | None = None) -> list[Samples]:
    """The samples of a recording: of one mixed channel, or of each channel.

    Args:
        source: whatever `load_audio` takes; `read` gives the samples that it would give. When channels are split, an
            array may have the shape (n_channels, n_samples).
        split: whether channels stay apart.
        check: called now and then while the recording is decoded; what it raises ends that.

    Raises:
        AudioError: as `load_audio`.
    """
    if not is_encoded(source):
        rows: Any = source if split and np.ndim(cast("npt.ArrayLike", source)) == 2 else [source]
        return [WaveformSamples(as_waveform(row)) for row in rows]
    channels: list[StoredSamples] = []
    try:
        with closing(decode_channels(source) if split else _mono(source)) as blocks:
            for block in blocks:
                channels = channels or [StoredSamples() for _ in block]
                for samples, row in zip(channels, block, strict=True):
                    samples.append(row)
                if check:
                    check()
    except BaseException:
        for samples in channels:
            samples.close()
        raise
    return list(channels)


def _mono(source: EncodedAudio) -> Generator[npt.NDArray[np.int16], None, None]:
    with closing(decode_blocks(source)) as blocks:
        for block in blocks:
            yield block[None]
