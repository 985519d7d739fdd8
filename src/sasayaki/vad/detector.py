"""How likely speech is in each frame of a recording: by Silero's network, or by the energy of the audio."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import SAMPLE_RATE
from sasayaki.audio.waveform import Waveform
from sasayaki.vad.silero import FRAME_SAMPLES, SileroNetwork, has_silero

FRAME_SECONDS = FRAME_SAMPLES / SAMPLE_RATE

_BLOCK_FRAMES = 1024
_SILENCE_DB = -70.0  # of full scale; quieter frames are no speech, whatever stands beside them
_FLOOR_SHARE, _SPEECH_SHARE = 0.1, 0.95  # quantiles taken for the background and for speech
_LEAST_RANGE_DB = 12.0  # what is less lively than this is background as a whole

Probabilities = npt.NDArray[np.float32]
"""Probability of speech in each frame of `FRAME_SECONDS` (32 ms), (n_frames,) float32."""


def speech_probabilities(audio: Waveform | Iterable[Waveform], kind: str = "auto") -> Probabilities:
    """Probability of speech in each frame of a recording; a last frame that is not full is filled with zeros.

    Args:
        audio: samples (n_samples,) at 16 kHz, or blocks of them of any length, one after the other.
        kind: `silero`, `energy`, or `auto` for Silero where its weights are installed.

    Raises:
        BackendError: Silero's weights are asked for and not installed.
    """
    blocks = _frame_blocks([audio] if isinstance(audio, np.ndarray) else audio)
    if kind == "energy" or (kind == "auto" and not has_silero()):
        return energy_probabilities(_joined(_decibels(frames) for frames in blocks))
    network = SileroNetwork()
    return _joined(network(frames) for frames in blocks)


def energy_probabilities(decibels: Probabilities) -> Probabilities:
    """Probability of speech by how far the power of a frame is above the background's.

    The background is the power that a tenth of the audible frames stay below, speech the one that 5 % are above; a
    frame half way between has the probability 0.5. Where the two are less than 12 dB apart nothing is speech: steady
    noise has no pauses.

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
        return np.zeros(len(decibels), np.float32)
    above = (decibels - floor) / reach - 0.5
    probabilities: Probabilities = np.where(is_audible, 0.5 + 0.5 * np.tanh(4 * above), 0).astype(np.float32)
    return probabilities


def _decibels(frames: Waveform) -> Probabilities:
    decibels: Probabilities = 10 * np.log10(np.mean(frames**2, axis=1) + 1e-12)
    return decibels


def _joined(parts: Iterable[Probabilities]) -> Probabilities:
    return np.concatenate([np.zeros(0, np.float32), *parts])


def _frame_blocks(blocks: Iterable[Waveform]) -> Iterator[Waveform]:
    """Frames (n, FRAME_SAMPLES), at most `_BLOCK_FRAMES` at a time."""
    rest = np.zeros(0, np.float32)
    for block in blocks:
        for begin in range(0, len(block), _BLOCK_FRAMES * FRAME_SAMPLES):
            rest = np.concatenate([rest, block[begin : begin + _BLOCK_FRAMES * FRAME_SAMPLES]])
            n_frames = len(rest) // FRAME_SAMPLES
            if n_frames:
                yield rest[: n_frames * FRAME_SAMPLES].reshape(n_frames, FRAME_SAMPLES)
                rest = rest[n_frames * FRAME_SAMPLES :]
    if len(rest):
        yield np.pad(rest, (0, FRAME_SAMPLES - len(rest)))[None]
