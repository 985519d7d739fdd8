"""A recording as the windows are cut from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.audio.waveform import pad_or_trim
from sasayaki.transcribe.requests import Window


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording as drivers see it.

    Attributes:
        mel: log-mel spectrogram of the audio and of 30 s of silence behind it, (n_mels, n_frames) float32.
        content_frames: frames of it that are audio, 100 a second.
    """

    mel: npt.NDArray[np.float32]
    content_frames: int

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.content_frames / FRAMES_PER_SECOND

    def window(self, window: Window) -> npt.NDArray[np.float32]:
        """The mel of a window (n_mels, N_FRAMES); what is missing to 30 s is 0.0."""
        return np.asarray(pad_or_trim(self.mel[:, window.start : window.end], N_FRAMES))
