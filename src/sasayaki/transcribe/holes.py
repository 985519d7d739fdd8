"""Speech at an edge of a segment that no word of it stands for: the segment's time leaves it out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from sasayaki.alignment.timestamps import TokenSpan
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.results import DecodingResult, Segment
from sasayaki.transcribe.coverage import MIN_BARE_SPEECH, n_bytes
from sasayaki.transcribe.requests import Asking, Window
from sasayaki.transcribe.word_times import Sounding, time_again, time_segments
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice

if TYPE_CHECKING:
    from sasayaki.transcribe.loop import Assignment

MIN_SPEECH = 5.0
"""Seconds of speech in a segment from which on its words are looked at."""

MAX_BYTES_PER_SECOND = 13.0
"""Bytes of text (UTF-8) per second of speech below which they are. English speech has 15 on the mean; segments that
had swallowed 4 to 24 words of another speaker had 9.8 to 12.9."""

LONG_WORD = 1.0
"""Seconds that a word may take; what is longer stands for something that was not written."""

MAX_STRAY = 3
"""So many words beyond a hole belong to the text on its other side: *And it* [7 s] *was a matter of course*."""

REACH = 1.0
"""Seconds within which a pause is taken for the border of a hole."""

MIN_LEFT = 0.2
"""Seconds of a segment that are left at least: its words may be found beyond its timestamps."""


@dataclass(frozen=True, slots=True)
class Hole:
    """Speech that no word stands for.

    Attributes:
        start: of it, in seconds.
        end: of it.
        first: how many words are before it.
        last: index of the first word behind it; one more than `first` where a long word fills it.
    """

    start: float
    end: float
    first: int
    last: int


def without_holes(
    work: Assignment,
    sounding: Sounding,
    result: DecodingResult,
    spans: Sequence[TokenSpan],
    segments: Sequence[Segment],
) -> Asking[tuple[Segment, ...]]:
    """Segments without the holes at their edges. Words are looked for where a segment has little text for its speech.

    Args:
        work: whose heads tell where the words are.
        sounding: window of the segments, with voice activity.
        result: of the window.
        spans: of the result, in order.
        segments: of them; with words if `word_timestamps` asks for them.
    """
    voice = sounding.voice
    if voice is None or not work.heads.pairs or not any(_is_sparse(segment, voice) for segment in segments):
        return tuple(segments)
    with_words = segments
    if not work.options.word_timestamps:
        timed = yield from time_segments(work, sounding, result, spans, segments)
        with_words = [replace(segment, words=each.segment.words) for segment, each in zip(segments, timed, strict=True)]
    cut = []
    for segment, timed_segment in zip(segments, with_words, strict=True):
        own = own_time(timed_segment, voice) if _is_sparse(segment, voice) else None
        if own:
            segment = replace(segment, start=own.start, end=own.end)
            if work.options.word_timestamps:
                segment = yield from time_again(work, Sounding(_window(own), voice), segment)
        cut.append(segment)
    return tuple(cut)


def _is_sparse(segment: Segment, voice: Voice) -> bool:
    speech = voice.seconds(segment.start, segment.end)
    return speech >= MIN_SPEECH and n_bytes([segment]) < MAX_BYTES_PER_SECOND * speech


def own_time(segment: Segment, voice: Voice) -> Region | None:
    """The time of a segment without the holes at one of its edges; None where there are none, or nothing is left.

    What lies between the edge and the last of its holes may have `MAX_STRAY` words, and fewer than the rest.
    """
    holes = find_holes(segment, voice)
    if not holes:
        return None
    n_before, n_behind = holes[-1].last, len(segment.words) - holes[0].first
    if min(n_before, n_behind) > MAX_STRAY or n_before == n_behind:
        return None
    if n_before < n_behind:
        own = Region(_start_behind(holes[-1], segment, voice), segment.end)
    else:
        own = Region(segment.start, _end_before(holes[0], segment, voice))
    return own if own.end - own.start >= MIN_LEFT else None


def find_holes(segment: Segment, voice: Voice) -> list[Hole]:
    """Stretches before, between and behind the words of a segment, and long words, with speech for another text."""
    words = segment.words
    edges = [segment.start, *(edge for word in words for edge in (word.start, word.end)), segment.end]
    holes = []
    for place, (start, end) in enumerate(pairwise(edges)):
        is_word = place % 2
        if voice.seconds(start, end) - (LONG_WORD if is_word else 0.0) >= MIN_BARE_SPEECH:
            holes.append(Hole(start, end, place // 2, place // 2 + is_word))
    return holes


def _window(own: Region) -> Window:
    """The frames that lie within a region, so that words stay there."""
    start, end = (round(time * FRAMES_PER_SECOND, 3) for time in (own.start, own.end))
    return Window(math.ceil(start), math.floor(end))


def _start_behind(hole: Hole, segment: Segment, voice: Voice) -> float:
    """Where speech goes on behind a hole: behind a pause near its end, or there."""
    latest = segment.words[hole.last].start
    starts = [region.start for region in voice.regions if hole.end - REACH <= region.start <= latest]
    return round(max(starts[-1] if starts else hole.end, segment.start), 3)


def _end_before(hole: Hole, segment: Segment, voice: Voice) -> float:
    earliest = segment.words[hole.first - 1].end
    ends = [region.end for region in voice.regions if earliest <= region.end <= hole.start + REACH]
    return round(min(ends[0] if ends else hole.start, segment.end), 3)
