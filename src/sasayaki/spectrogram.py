"""The log-mel spectrogram of the public functions, which code written for openai/whisper can send to a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from sasayaki.audio import AudioSource
from sasayaki.audio import log_mel_spectrogram as compute


class LogMelSpectrogram(np.ndarray[Any, np.dtype[np.float32]]):
    """A NumPy array with the one method of a tensor that such code calls: `mel.to(model.device)`."""

    def to(self, device: object) -> LogMelSpectrogram:
        """The same array, whatever the device: engines move their input to where they run."""
        return self


def log_mel_spectrogram(audio: AudioSource, n_mels: int = 80, padding: int = 0) -> LogMelSpectrogram:
    """`sasayaki.audio.log_mel_spectrogram`: (n_mels, n_frames) float32, or a batch of them."""
    return compute(audio, n_mels, padding).view(LogMelSpectrogram)
