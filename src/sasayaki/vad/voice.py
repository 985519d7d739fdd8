"""Voice activity in a stretch of a recording, as the loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.options import TranscribeOptions
from sasayaki.vad.detector import FRAME_SECONDS, Listener
from sasayaki.vad.find import find_speech, quietest
from sasayaki.vad.regions import Region

SURE_SILENCE = 0.1
"""A moment whose probability of speech is below this is silence, or a sound that is no voice. In speech/open no
recording with words stays below 0.9, and noise reaches 0.46."""


@dataclass(frozen=True, slots=True)
class Voice:
    """Voice activity up to `end`; all times are seconds of the recording.

    Attributes:
        start: time of the first frame.
        end: time up to which it was listened.
        probabilities: of speech in each frame of `FRAME_SECONDS`, (n_frames,) float32.
        regions: stretches of speech, in the order of time.
    """

    start: float
    end: float
    probabilities: npt.NDArray[np.float32]
    regions: tuple[Region, ...]

    def seconds(self, start: float, end: float) -> float:
        """Seconds of speech from `start` to `end`."""
        return seconds_within(self.regions, start, end)

    def within(self, start: float, end: float) -> tuple[Region, ...]:
        """Stretches of speech from `start` to `end`, cut there."""
        cut = (Region(max(region.start, start), min(region.end, end)) for region in self.regions)
        return tuple(region for region in cut if region.start < region.end)

    def voiced_frames(self, start_frame: int, end_frame: int) -> npt.NDArray[np.bool_]:
        """Whether there is speech in each mel frame from `start_frame` up to `end_frame`, (n_frames,)."""
        moments = (np.arange(start_frame, end_frame) + 0.5) / FRAMES_PER_SECOND
        voiced = np.zeros(len(moments), np.bool_)
        for region in self.regions:
            voiced |= (region.start <= moments) & (moments < region.end)
        return voiced

    def first_sound(self) -> float:
        """Time of the first frame that is not surely silence; `end` when all is."""
        sounds = np.flatnonzero(self.probabilities >= SURE_SILENCE)
        return self.start + int(sounds[0]) * FRAME_SECONDS if len(sounds) else self.end

    def quietest(self, start: float, end: float) -> float:
        """The time in the middle half of `start` to `end`, at least half a second, at which speech is least likely."""
        return self.start + quietest(self.probabilities, Region(start - self.start, end - self.start))


def listen(listener: Listener, start_frame: int, end_frame: int, options: TranscribeOptions) -> Voice:
    """Voice activity in mel frames `start_frame` up to `end_frame`, 100 a second, of a recording."""
    start, end = start_frame / FRAMES_PER_SECOND, end_frame / FRAMES_PER_SECOND
    first = int(start // FRAME_SECONDS)
    probabilities = listener.read(first, -int(-end // FRAME_SECONDS))
    origin = first * FRAME_SECONDS
    found = find_speech(probabilities, options, duration=end - origin)
    regions = [Region(max(origin + region.start, start), origin + region.end) for region in found]
    return Voice(origin, end, probabilities, tuple(region for region in regions if region.start < region.end))


def seconds_within(regions: Sequence[Region], start: float, end: float) -> float:
    """How much of `start` to `end` lies in the regions, in seconds."""
    return sum(max(0.0, min(region.end, end) - max(region.start, start)) for region in regions)
