"""A recording as the windows are cut from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.audio.load import AudioSource
from sasayaki.audio.mel import LogMel
from sasayaki.audio.samples import Samples, open_samples
from sasayaki.audio.waveform import pad_or_trim
from sasayaki.transcribe.ahead import Ahead
from sasayaki.transcribe.requests import Window


class Mel(Protocol):
    """A log-mel spectrogram that is computed where it is read."""

    def read(self, start: int, end: int) -> npt.NDArray[np.float32]:
        """Frames `start` up to `end`, (n_mels, n) float32; those behind its last frame are not there."""
        ...


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording as drivers see it.

    Attributes:
        mel: log-mel spectrogram of the audio and of 30 s of silence behind it.
        content_frames: frames of it that are audio, 100 a second.
        samples: the audio itself.
        ahead: work on the mel and the samples beside the decoder.
    """

    mel: Mel
    content_frames: int
    samples: Samples
    ahead: Ahead = field(default_factory=Ahead)

    @classmethod
    def of_samples(cls, samples: Samples, n_mels: int, *, check: Callable[[], None] | None = None) -> Recording:
        """A recording from its samples, after a first pass for its loudest moment; `check` can end that."""
        mel = LogMel(samples, n_mels, check=check)
        return cls(mel, mel.n_frames - N_FRAMES, samples)

    def close(self) -> None:
        """Let go of the audio."""
        self.ahead.close()
        self.samples.close()

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.content_frames / FRAMES_PER_SECOND

    def window(self, window: Window) -> npt.NDArray[np.float32]:
        """The mel of a window (n_mels, window.context); what is missing is 0.0, or silence where that is asked for."""
        self.ahead.settle()
        mel = self.mel.read(window.start, window.end)
        missing = window.context - mel.shape[1]
        if missing > 0 and window.ends_in_silence:
            last = self.content_frames + N_FRAMES
            mel = np.concatenate([mel, np.repeat(self.mel.read(last - 1, last), missing, axis=1)], axis=1)
        return np.asarray(pad_or_trim(mel, window.context))


@contextmanager
def opened(
    source: AudioSource, n_mels: int, *, split: bool = False, check: Callable[[], None] | None = None
) -> Iterator[list[Recording]]:
    """Read a recording, or each of its channels: decoded as a whole, but not kept in memory. An error closes it.

    Args:
        source: whatever `load_audio` takes; with `split` also an array (n_channels, n_samples).
        n_mels: mel bands of the model.
        split: whether each channel is a recording of its own.
        check: called now and then meanwhile; what it raises ends the reading.

    Raises:
        AudioError: the source cannot be read, is no recording, or holds no audio.
    """
    channels = open_samples(source, split=split, check=check)
    try:
        yield [Recording.of_samples(samples, n_mels, check=check) for samples in channels]
    except BaseException:
        for samples in channels:
            samples.close()
        raise
