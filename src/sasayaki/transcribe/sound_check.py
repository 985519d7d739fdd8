"""Text that says the same again and again: a loop where the sound does not, and no guess where it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.results import Segment
from sasayaki.transcribe.repetition import find_runs
from sasayaki.transcribe.requests import Asking, Compare, Place, Said, Window, WindowResult
from sasayaki.transcribe.silence import is_doubted

SAME_SOUND = 0.2
"""Sound that repeats itself has a recurrence from this on. Other speech had 0.16 at most, with noise and without it;
Hebrew *no, no, no* 0.37 and more, words joined with themselves 0.25, and 0.20 in white noise as loud as they."""


COARSE = 2.0
"""Seconds by which timestamps may be wrong. What sounds further from a run is not what the run says: a forecast that is
read three times bore out a loop 2 s to 10 s before it."""


APART = 3
"""What a text says again is said again within so many times the usual time of a turn: a model may hear more turns than
there are, 13 of *four* in 10. Where somebody reads a forecast three times in 20 s, *down* 13 times is not borne out."""


def recurrence_of(start: float, end: float, farthest: float = math.inf) -> Asking[float]:
    """How much the sound between two times, in seconds, repeats itself within `farthest` seconds."""
    first = max(math.floor(start * FRAMES_PER_SECOND), 0)
    last = math.ceil(end * FRAMES_PER_SECOND)
    found: float = yield Compare(Window(first, min(last, first + N_FRAMES)), farthest)
    return found


@dataclass(frozen=True, slots=True)
class Checked:
    """Segments of a window that are kept, numbered anew, and what else is known then.

    Attributes:
        segments: that are kept.
        loops: segments that are rejected; each has the number of the kept one behind it.
        said: by the segments before and by those that are kept, for the next window.
    """

    segments: tuple[Segment, ...]
    loops: tuple[Segment, ...]
    said: tuple[Said, ...]


def without_loops(segments: Sequence[Segment], window: Window, said: Sequence[Said] = ()) -> Asking[Checked]:
    """A window without its loops.

    A phrase that is said again and again (`find_runs`) is a loop where the model doubts it, and the sound between the
    segments beside it, near its own times, does not repeat itself: where the phrase takes a part of the words, only so
    much of the sound has to. It may have begun in the windows before; what was said there stays.

    Args:
        segments: of the window, in the order of time.
        window: its frames.
        said: by the segments before; what ended 30 s before the window or earlier is forgotten.
    """
    before = tuple(each for each in said if each.end > (window.start - N_FRAMES) / FRAMES_PER_SECOND)
    held = tuple(range(len(segments)))
    while loops := (yield from _find_loops([segments[place] for place in held], window, before)):
        held = tuple(place for number, place in enumerate(held) if number not in loops)
    kept: list[Segment] = []
    rejected: list[Segment] = []
    for place, segment in enumerate(segments):
        numbered = replace(segment, id=segments[0].id + len(kept))
        if place in held:
            kept.append(numbered)
        else:
            rejected.append(replace(numbered, rejected="loop"))
    return Checked(tuple(kept), tuple(rejected), (*before, *map(_said, kept)))


def behind(place: Place, window: WindowResult) -> Asking[WindowResult]:
    """A window that was transcribed without those before it, behind a place: loops that began there are rejected."""
    checked = yield from without_loops(window.segments, window.window, place.said)
    n_segment = window.place.n_segment - len(checked.loops)
    return replace(
        window,
        segments=checked.segments,
        rejected=(*window.rejected, *checked.loops),
        place=replace(window.place, n_segment=n_segment, said=checked.said),
    )


def _find_loops(segments: Sequence[Segment], window: Window, before: Sequence[Said]) -> Asking[set[int]]:
    """Places of the segments that are in loops."""
    spoken, n_before = (*before, *map(_said, segments)), len(before)
    loops: set[int] = set()
    for run in find_runs([each.text for each in spoken]):
        places = {place - n_before for place in run.places if place >= n_before}
        if any(is_doubted(segments[place].no_speech_prob, segments[place].avg_logprob) for place in places):
            start, end = _around(spoken, run.places, window)
            seconds = max(end - start, spoken[run.places.stop - 1].end - spoken[run.places.start].start)
            recurrence = yield from recurrence_of(start, end, APART * seconds / run.n_turns)
            loops |= places if recurrence < SAME_SOUND * run.share else set()
    return loops


def _said(segment: Segment) -> Said:
    return Said(segment.start, segment.end, segment.text)


def _around(spoken: Sequence[Said], places: range, window: Window) -> tuple[float, float]:
    """From the end of the segment before these places to the start of the one behind, `COARSE` beyond them at most.

    Where that is too long for a window, its last 30 s.
    """
    first, last = spoken[places.start].start, spoken[places.stop - 1].end
    before = spoken[places.start - 1].end if places.start else window.start / FRAMES_PER_SECOND
    behind = spoken[places.stop].start if places.stop < len(spoken) else window.end / FRAMES_PER_SECOND
    end = max(min(behind, last + COARSE), last)
    return max(min(max(before, first - COARSE), first), end - N_FRAMES / FRAMES_PER_SECOND), end
