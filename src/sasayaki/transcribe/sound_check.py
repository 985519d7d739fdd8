"""Text that says the same again and again: a loop where the sound does not, and no guess where it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.results import Segment
from sasayaki.transcribe.repetition import find_runs
from sasayaki.transcribe.requests import Asking, Compare, Window
from sasayaki.transcribe.silence import is_doubted

SAME_SOUND = 0.2
"""Sound that repeats itself has a recurrence from this on. Other speech had 0.16 at most, with noise and without it;
Hebrew *no, no, no* 0.37 and more, words joined with themselves 0.25, and 0.20 in white noise as loud as they."""


def recurrence_of(start: float, end: float) -> Asking[float]:
    """How much the sound between two times, in seconds, repeats itself."""
    first = max(math.floor(start * FRAMES_PER_SECOND), 0)
    last = math.ceil(end * FRAMES_PER_SECOND)
    found: float = yield Compare(Window(first, min(last, first + N_FRAMES)))
    return found


def without_loops(
    segments: Sequence[Segment], window: Window
) -> Asking[tuple[tuple[Segment, ...], tuple[Segment, ...]]]:
    """The segments of a window that are kept, numbered anew, and those that are rejected as a loop.

    A phrase that is said four times or more (`find_runs`) is a loop where the model doubts it, and the sound from the
    segment before to the segment behind does not repeat itself: where the phrase takes a part of the words, only so
    much of the sound has to. A rejected segment has the number of the kept one behind it.
    """
    loops: set[int] = set()
    for run in find_runs([segment.text for segment in segments]):
        said = [segments[place] for place in run.places]
        if any(is_doubted(segment.no_speech_prob, segment.avg_logprob) for segment in said):
            start, end = _around(segments, run.places, window)
            recurrence = yield from recurrence_of(start, end)
            loops.update(run.places if recurrence < SAME_SOUND * run.share else ())
    held: list[Segment] = []
    rejected: list[Segment] = []
    for place, segment in enumerate(segments):
        numbered = replace(segment, id=segments[0].id + len(held))
        if place in loops:
            rejected.append(replace(numbered, rejected="loop"))
        else:
            held.append(numbered)
    return tuple(held), tuple(rejected)


def _around(segments: Sequence[Segment], places: range, window: Window) -> tuple[float, float]:
    """From the end of the segment before these places to the start of the one behind: timestamps are coarse."""
    before = segments[places.start - 1].end if places.start else window.start / FRAMES_PER_SECOND
    behind = segments[places.stop].start if places.stop < len(segments) else window.end / FRAMES_PER_SECOND
    return min(before, segments[places.start].start), max(behind, segments[places.stop - 1].end)
