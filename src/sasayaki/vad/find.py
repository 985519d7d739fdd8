"""From probabilities of speech to regions of speech, and from those to windows for parallel decoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sasayaki.options import TranscribeOptions
from sasayaki.vad.detector import FRAME_SECONDS
from sasayaki.vad.regions import Region

HYSTERESIS = 0.15
"""Speech goes on until its probability is this far below the threshold."""

_CUT_FRAMES = 5  # a cut is looked for in the mean of so many frames
_WINDOW_COST = 3.0  # of one more window, against 1.0 for a cut without any silence


def find_speech(
    probabilities: npt.NDArray[np.float32], options: TranscribeOptions, *, duration: float
) -> tuple[Region, ...]:
    """Regions of speech in a stretch of audio, in the order of time, without overlap.

    Speech begins with a frame whose probability is at least `vad_threshold`, and ends when it has been lower than
    `HYSTERESIS` below that for `vad_min_silence` seconds. What is shorter than `vad_min_speech` is dropped; what is
    left grows by `vad_padding` on either side, half way to its neighbour at most.

    Args:
        probabilities: of the frames, (n_frames,).
        options: with the fields `vad_…`.
        duration: its length in seconds.
    """
    runs = _runs(probabilities, options.vad_threshold, round(options.vad_min_silence / FRAME_SECONDS))
    spoken = [
        Region(begin * FRAME_SECONDS, min(end * FRAME_SECONDS, duration))
        for begin, end in runs
        if (end - begin) * FRAME_SECONDS >= options.vad_min_speech
    ]
    return _padded(spoken, options.vad_padding, duration)


def _runs(probabilities: npt.NDArray[np.float32], threshold: float, min_silent_frames: int) -> list[tuple[int, int]]:
    """First frame of each stretch of speech, and the frame behind its last."""
    runs: list[tuple[int, int]] = []
    begin: int | None = None
    last = 0
    for frame in np.flatnonzero(probabilities >= threshold - HYSTERESIS):
        if begin is not None and frame - last > max(min_silent_frames, 1):
            runs.append((begin, last + 1))
            begin = None
        if begin is None and probabilities[frame] >= threshold:
            begin = int(frame)
        last = int(frame)
    if begin is not None:
        runs.append((begin, last + 1))
    return runs


def _padded(regions: Sequence[Region], padding: float, duration: float) -> tuple[Region, ...]:
    borders = [0.0, *((a.end + b.start) / 2 for a, b in pairwise(regions)), duration]
    return tuple(
        Region(max(region.start - padding, left), min(region.end + padding, right))
        for region, left, right in zip(regions, borders, borders[1:], strict=False)
    )


def cut_at_silences(
    regions: Sequence[Region],
    max_seconds: float = 30.0,
    *,
    probabilities: npt.NDArray[np.float32] | None = None,
    keeps_sound: bool = False,
) -> tuple[Region, ...]:
    """Windows of at most `max_seconds` that hold all speech; as few as can be, cut at long silences.

    The start of a window is that of a region, so its place in the recording is exact however many windows came before.
    A region that is longer than a window is divided first.

    Args:
        regions: speech, in the order of time, without overlap.
        max_seconds: longest window.
        probabilities: of speech in the frames of the recording, (n_frames,); long regions are divided where speech is
            least likely. None divides them into equal parts.
        keeps_sound: whether the windows also hold what is no speech for all we know, but not surely silent
            (probability 0).

    Returns:
        Windows in the order of time, without overlap.
    """
    stretches: list[tuple[Region, float]] = []
    if keeps_sound and probabilities is not None:
        stretches = _with_sounds(regions, probabilities)
    elif regions:
        stretches = list(zip(regions, [math.inf, *_pauses(regions)], strict=True))
    parts = [
        (part, pause if place == 0 else 0.0)
        for region, pause in stretches
        for place, part in enumerate(_divided(region, max_seconds, probabilities))
    ]
    best: list[tuple[float, int]] = [(0.0, 0)]  # least cost of the parts before each, and where its last window begins
    for end in range(1, len(parts) + 1):
        choices = []
        for begin in range(end - 1, -1, -1):
            if parts[end - 1][0].end - parts[begin][0].start > max_seconds and begin < end - 1:
                break
            choices.append((best[begin][0] + _WINDOW_COST + math.exp(-parts[begin][1]), begin))
        best.append(min(choices))
    windows: list[Region] = []
    end = len(parts)
    while end:
        begin = best[end][1]
        windows.append(Region(parts[begin][0].start, parts[end - 1][0].end))
        end = begin
    return tuple(reversed(windows))


def _pauses(regions: Sequence[Region]) -> list[float]:
    """Seconds between each region and the next."""
    return [after.start - before.end for before, after in pairwise(regions)]


def _with_sounds(regions: Sequence[Region], probabilities: npt.NDArray[np.float32]) -> list[tuple[Region, float]]:
    """The regions and all between them that is not surely silent, in the order of time; each with the pause before it.

    A pause with sounds is divided in its middle, and that is the place that has its length.
    """
    whole = Region(0.0, len(probabilities) * FRAME_SECONDS)
    borders = [0.0, *(time for region in regions for time in (region.start, region.end)), whole.end]
    found: list[tuple[Region, float]] = []
    for place, (start, end) in enumerate(pairwise(borders)):
        pause = end - start
        if place % 2:
            before = borders[place] - borders[place - 1]
            has_sound = bool(found) and found[-1][0].end == start
            found.append((Region(start, end), 0.0 if has_sound else before))
        elif pause > 0 and _has_sound(start, end, probabilities):
            middle = (start + end) / 2
            found += [(Region(start, middle), 0.0), (Region(middle, end), pause)]
    return found


def _has_sound(start: float, end: float, probabilities: npt.NDArray[np.float32]) -> bool:
    return bool(probabilities[round(start / FRAME_SECONDS) : round(end / FRAME_SECONDS)].any())


def _divided(region: Region, max_seconds: float, probabilities: npt.NDArray[np.float32] | None) -> tuple[Region, ...]:
    """Parts of a region, none longer than `max_seconds`; cuts are made in the middle half of what is too long."""
    length = region.end - region.start
    if length <= max_seconds:
        return (region,)
    n_parts = math.ceil(length / max_seconds)
    cut = region.start + length / n_parts * (n_parts // 2)
    if probabilities is not None:
        cut = quietest(probabilities, region)
    halves = (Region(region.start, cut), Region(cut, region.end))
    return tuple(part for half in halves for part in _divided(half, max_seconds, probabilities))


def quietest(probabilities: npt.NDArray[np.float32], region: Region) -> float:
    """The time in the middle half of a region of at least half a second at which speech is least likely.

    Of equal ones it is the one nearest to the middle.

    Args:
        probabilities: of speech in frames that begin at 0.0, (n_frames,).
        region: what is to be divided.
    """
    length = region.end - region.start
    begin, end = (round((region.start + share * length) / FRAME_SECONDS) for share in (0.25, 0.75))
    smooth = np.convolve(probabilities[begin:end], np.ones(_CUT_FRAMES) / _CUT_FRAMES, mode="valid")
    least = np.flatnonzero(smooth == smooth.min())
    cut = least[np.abs(2 * least - len(smooth) + 1).argmin()]
    return (begin + int(cut) + _CUT_FRAMES / 2) * FRAME_SECONDS
