"""Speech that no text covers: found by voice activity, decoded again on its own, and kept when that is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.results import Segment
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice

MARGIN = 0.3
"""Seconds by which a segment covers more than its time says: timestamps are coarse."""

MIN_BARE_SPEECH = 1.2
"""Seconds of speech without any segment that are decoded again. On 11 minutes that were transcribed whole it was never
more than 0.9 (base)."""

MIN_UNHEARD_SPEECH = 0.7
"""Seconds of speech before the first segment of a window from which on it is decoded again with that segment: the model
may have left out a clause and put the next one in its place. In 30 windows of 13 minutes (tiny.en) it was 1.0 where 15
words were lost so, and 0.4 at most elsewhere."""

MIN_DOUBTED_SPEECH = 0.2
"""As many seconds are enough where a text was rejected: another search may hear a short word that this one did not."""

MIN_BYTES_PER_SECOND = 9.5
"""Fewer bytes of text (UTF-8) per second of speech are too few. There, one segment of that much speech had 8.6, the
others 10 and more; where tiny.en had swallowed three of five sentences it was 7.8."""

MIN_THIN_SPEECH = 3.0
"""Seconds of speech in a segment from which on that is looked at: a short word may be drawn out."""

BETTER = 1.5
"""A new text replaces an old one when it has so many times its bytes."""

ECHO = 0.6
"""A text of whose words so many are in the segments beside it says nothing new."""

BEAMS = 5
LEAD = 0.2  # seconds of silence around what is decoded again


@dataclass(frozen=True, slots=True)
class Gap:
    """Speech that the text does not account for.

    Attributes:
        start: first moment to decode again, in seconds of the recording.
        end: last moment.
        first: index of the first segment that the new text would replace.
        last: index behind the last; equal to `first` where no segment stands.
    """

    start: float
    end: float
    first: int
    last: int


def find_gaps(
    segments: Sequence[Segment], voice: Voice, *, start: float, end: float, rejected: Sequence[Segment] = ()
) -> tuple[Gap, ...]:
    """Gaps between `start` and `end`, in the order of time.

    - Speech of `MIN_BARE_SPEECH` seconds or more before, between or behind segments; of `MIN_DOUBTED_SPEECH` where a
      text was rejected.
    - The first segment with what is before it, where that is less, but speech of `MIN_UNHEARD_SPEECH` seconds or more.
    - A segment with `MIN_THIN_SPEECH` seconds of speech or more, and less text than `MIN_BYTES_PER_SECOND`.
    """
    gaps: list[Gap] = []
    free = start
    for place, segment in enumerate(segments):
        bare = _bare(voice, Region(free, segment.start - MARGIN), place, rejected)
        unheard = [] if bare or place else _unheard(segment, voice, start)
        gaps += bare + (unheard or _thin(segment, voice, place))
        free = max(free, segment.end + MARGIN)
    return (*gaps, *_bare(voice, Region(free, end), len(segments), rejected))


def _bare(voice: Voice, free: Region, place: int, rejected: Sequence[Segment]) -> list[Gap]:
    spoken = _spoken(voice, free.start, free.end)
    is_doubted = any(each.start < free.end and each.end > free.start for each in rejected)
    least = MIN_DOUBTED_SPEECH if is_doubted else MIN_BARE_SPEECH
    if spoken is None or voice.seconds(free.start, free.end) < least:
        return []
    return [Gap(max(spoken.start - LEAD, free.start), min(spoken.end + LEAD, free.end), place, place)]


def _unheard(first: Segment, voice: Voice, start: float) -> list[Gap]:
    if voice.seconds(start, first.start) < MIN_UNHEARD_SPEECH:
        return []
    return [Gap(start, first.end, 0, 1)]


def is_thin(segments: Sequence[Segment], voice: Voice, start: float, end: float) -> bool:
    """Whether there is much speech between `start` and `end`, and little of it in the text."""
    speech = voice.seconds(start, end)
    return speech >= MIN_THIN_SPEECH and n_bytes(segments) < MIN_BYTES_PER_SECOND * speech


def _thin(segment: Segment, voice: Voice, place: int) -> list[Gap]:
    spoken = _spoken(voice, segment.start, segment.end)
    if not is_thin([segment], voice, segment.start, segment.end) or spoken is None:
        return []
    return [Gap(max(spoken.start - LEAD, segment.start), min(spoken.end + LEAD, segment.end), place, place + 1)]


def _spoken(voice: Voice, start: float, end: float) -> Region | None:
    """From the first to the last moment of speech between `start` and `end`.

    A region that lies mostly outside, and has little of itself inside, is left to what stands there.
    """
    inside = [region for region in voice.regions if _belongs(region, start, end)]
    return Region(max(inside[0].start, start), min(inside[-1].end, end)) if inside else None


def _belongs(region: Region, start: float, end: float) -> bool:
    shared = min(region.end, end) - max(region.start, start)
    return shared > 0 and (shared >= MIN_BARE_SPEECH or 2 * shared >= region.end - region.start)


def frames_of(gap: Gap) -> tuple[int, int]:
    """First mel frame of a gap, and the one behind its last."""
    start, end = (round(time * FRAMES_PER_SECOND, 6) for time in (gap.start, gap.end))
    return math.floor(start), math.ceil(end)


def guard_options(options: TranscribeOptions, language: str) -> DecodingOptions:
    """How a gap is decoded: at temperature 0, with beams, and told nothing of what was said before."""
    beams = options.beam_size or BEAMS
    return replace(options, beam_size=beams).for_window(0.0, language=language, prompt=())


def is_better(found: Sequence[Segment], segments: Sequence[Segment], gap: Gap) -> bool:
    """Whether new text is more than what stands in its place, and no echo of what stands beside it."""
    replaced = segments[gap.first : gap.last]
    if n_bytes(found) <= BETTER * n_bytes(replaced):
        return False
    beside = [*segments[max(gap.first - 1, 0) : gap.first], *segments[gap.last : gap.last + 1]]
    return all(echo(found, [other]) < ECHO for other in beside)


def echo(found: Sequence[Segment], others: Sequence[Segment]) -> float:
    """Share of the words of `found` that stand in `others` in the same order; 1 where there are none."""
    words, known = _words(found), _words(others)
    same = sum(block.size for block in SequenceMatcher(None, words, known, autojunk=False).get_matching_blocks())
    return same / len(words) if words else 1.0


def _words(segments: Sequence[Segment]) -> list[str]:
    return "".join(segment.text for segment in segments).lower().split()


def n_bytes(segments: Sequence[Segment]) -> int:
    """Bytes of the text in UTF-8, without the spaces around it."""
    return sum(len(segment.text.strip().encode()) for segment in segments)
