"""Regions of speech, and the way back from times of the joined regions to times of the recording."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

_BORDER = 1 / 32000
"""Seconds, half a sample, by which sums of times may be off; what is so near to a border is on it."""


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of the recording, in seconds."""

    start: float
    end: float


class CutTimes:
    """Maps times of audio from which the silence was cut out back to the recording.

    Args:
        regions: what was kept, in the order of time, without overlap.
    """

    def __init__(self, regions: Sequence[Region]) -> None:
        self._regions = tuple(regions)
        self._borders = [0.0, *accumulate(region.end - region.start for region in regions)]

    def restore(self, start: float, end: float) -> Region:
        """The stretch of the recording that `start` to `end` of the cut audio stands for.

        On the border of two regions a start belongs to the later one and an end to the earlier one, unless both are
        there. Times outside the cut audio are moved to its first or last moment.
        """
        if not self._regions:
            return Region(0.0, 0.0)
        first = max(min(bisect_right(self._borders, start + _BORDER), len(self._regions)) - 1, 0)
        last = min(max(bisect_left(self._borders, end - _BORDER) - 1, first), len(self._regions) - 1)
        return Region(self._place(first, start), self._place(last, end))

    def _place(self, index: int, time: float) -> float:
        region = self._regions[index]
        return min(max(region.start + time - self._borders[index], region.start), region.end)
