"""How likely speech is in each frame of a recording: by Silero's network, or by the energy of the audio."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import SAMPLE_RATE
from sasayaki.audio.samples import Samples
from sasayaki.audio.waveform import Waveform
from sasayaki.vad.silero import FRAME_SAMPLES, SileroNetwork, has_silero

FRAME_SECONDS = FRAME_SAMPLES / SAMPLE_RATE

UNSURE = 0.2
"""What energy says of a sound that is most likely no speech."""

_BLOCK_FRAMES = 1024  # 33 s at a time
_SILENCE_DB = -70.0  # of full scale; quieter frames are no speech, whatever stands beside them
_FLOOR_SHARE, _SPEECH_SHARE = 0.1, 0.95  # quantiles taken for the background and for speech
_LEAST_RANGE_DB = 12.0  # what is less lively than this is background as a whole

QUIET_DB = -30.0
"""Of full scale. Silero misses speech that is much quieter, while Whisper hears it: its spectrogram knows no level."""

_MAX_GAIN_DB = QUIET_DB - _SILENCE_DB
_LOUD_SHARE = 0.99  # quantile taken for the loudest sound; a click is shorter

Probabilities = npt.NDArray[np.float32]
"""Probability of speech in each frame of `FRAME_SECONDS` (32 ms), (n_frames,) float32."""


class Listener:
    """Probabilities of speech in the frames of a recording, computed as far as they are asked for.

    A last frame that is not full is filled with zeros. Silero listens from the start of the recording on, wherever it
    is asked first, so answers do not depend on the order of questions; energy looks at the whole recording first.

    Args:
        samples: the recording.
        kind: `silero`, `energy`, or `auto` for Silero where its weights are installed.
        check: called after each block of 33 s; what it raises ends the listening.

    Raises:
        BackendError: Silero's weights are asked for and not installed.
    """

    def __init__(self, samples: Samples, kind: str = "auto", *, check: Callable[[], None] | None = None) -> None:
        self._samples = samples
        is_energy = kind == "energy" or (kind == "auto" and not has_silero())
        self.kind = "energy" if is_energy else "silero"
        frames = _frames(samples, check)  # a generator of this object's own would keep both, and the recording, alive
        self._blocks = _energy(frames) if is_energy else map(SileroNetwork(), map(raised, frames))
        self._heard = np.zeros(0, np.float32)

    @property
    def n_frames(self) -> int:
        """Number of frames of the recording."""
        return -(-self._samples.n_samples // FRAME_SAMPLES)

    def read(self, start: int, end: int) -> Probabilities:
        """Probabilities of frames `start` up to `end`, as far as the recording goes, (n,) float32."""
        while len(self._heard) < min(end, self.n_frames):
            self._heard = np.concatenate([self._heard, next(self._blocks)])
        return self._heard[start:end]


def _energy(frames: Iterator[Waveform]) -> Iterator[Probabilities]:
    yield energy_probabilities(np.concatenate([_decibels(some) for some in frames]))


def _frames(samples: Samples, check: Callable[[], None] | None) -> Iterator[Waveform]:
    """Frames (n, FRAME_SAMPLES), at most `_BLOCK_FRAMES` at a time."""
    step = _BLOCK_FRAMES * FRAME_SAMPLES
    for first in range(0, samples.n_samples, step):
        block = samples.read(first, min(first + step, samples.n_samples))
        if check:
            check()
        yield np.pad(block, (0, -len(block) % FRAME_SAMPLES)).reshape(-1, FRAME_SAMPLES)


def raised(frames: Waveform) -> Waveform:
    """Frames (n, n_samples) made louder if they are quiet as a whole: the loudest hundredth reaches `QUIET_DB`.

    They gain 40 dB at most, so what is below -70 dB stays below `QUIET_DB`.
    """
    loud = float(np.quantile(_decibels(frames), _LOUD_SHARE))
    gain = min(max(QUIET_DB - loud, 0.0), _MAX_GAIN_DB)
    return frames * np.float32(10 ** (gain / 20)) if gain else frames


def energy_probabilities(decibels: Probabilities) -> Probabilities:
    """Probability of speech by how far the power of a frame is above the background's.

    The background is the power that a tenth of the audible frames stay below, speech the one that 5 % are above; a
    frame half way between has the probability 0.5. Where the two are less than 12 dB apart nothing is speech: steady
    noise has no pauses. Quiet sounds may still be speech, so no audible frame is surely silent (`UNSURE` at least).

    Args:
        decibels: power of each frame relative to full scale, (n_frames,).
    """
    is_audible = decibels > _SILENCE_DB
    if not is_audible.any():
        return np.zeros(len(decibels), np.float32)
    floor, speech = np.quantile(decibels[is_audible], [_FLOOR_SHARE, _SPEECH_SHARE])
    if (~is_audible).mean() > _FLOOR_SHARE:
        floor = _SILENCE_DB
    reach = speech - floor
    if reach < _LEAST_RANGE_DB:
        return np.where(is_audible, np.float32(UNSURE), np.float32(0))
    likely = np.maximum(0.5 + 0.5 * np.tanh(4 * ((decibels - floor) / reach - 0.5)), UNSURE)
    return np.where(is_audible, likely, 0).astype(np.float32)


def _decibels(frames: Waveform) -> Probabilities:
    decibels: Probabilities = 10 * np.log10(np.mean(frames**2, axis=1) + 1e-12)
    return decibels
