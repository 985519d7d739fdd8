"""Text that says the same again and again: a loop where the sound does not, and no guess where it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.results import Segment
from sasayaki.transcribe.repetition import find_runs
from sasayaki.transcribe.requests import Asking, Compare, Window
from sasayaki.transcribe.silence import is_sure

MARGIN = 0.2
"""Seconds by which the time of segments is widened when their sound is looked at: timestamps are coarse."""

SAME_SOUND = 0.2
"""Sound that repeats itself has a recurrence from this on. Other speech had 0.16 at most, with noise and without it;
Hebrew *no, no, no* 0.37 and more, words joined with themselves 0.25, and 0.20 in white noise as loud as they."""


def recurrence_of(said: Sequence[Segment]) -> Asking[float]:
    """How much the sound in the time of these segments repeats itself."""
    start = max(math.floor((said[0].start - MARGIN) * FRAMES_PER_SECOND), 0)
    end = math.ceil((said[-1].end + MARGIN) * FRAMES_PER_SECOND)
    found: float = yield Compare(Window(start, min(end, start + N_FRAMES)))
    return found


def without_loops(segments: Sequence[Segment]) -> Asking[tuple[tuple[Segment, ...], tuple[Segment, ...]]]:
    """The segments of a window that are kept, numbered anew, and those that are rejected as a loop.

    A phrase that is said four times or more (`find_runs`) is a loop where the model has some doubt, and the sound in
    the time of its segments does not repeat itself: where it takes a part of their words, only so much of the sound has
    to. A rejected segment has the number of the kept one behind it.
    """
    loops: set[int] = set()
    for run in find_runs([segment.text for segment in segments]):
        said = [segments[place] for place in run.places]
        if not all(is_sure(segment.no_speech_prob, segment.avg_logprob) for segment in said):
            recurrence = yield from recurrence_of(said)
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
