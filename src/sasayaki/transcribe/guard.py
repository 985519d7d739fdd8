"""The coverage guard: asks for the gaps of a window again, and puts what is better into place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.results import DecodingResult, Segment
from sasayaki.transcribe.coverage import Gap, find_gaps, frames_of, guard_options, is_better
from sasayaki.transcribe.evidence import judge
from sasayaki.transcribe.fallback import Fallback, failed_checks, make_attempt
from sasayaki.transcribe.requests import Asking, Decode, Window
from sasayaki.transcribe.segments import make_segments, read_window
from sasayaki.transcribe.word_times import Timing, time_window
from sasayaki.vad.voice import Voice

if TYPE_CHECKING:
    from sasayaki.transcribe.loop import Assignment

MAX_ROUNDS = 2
"""How often a window is looked through: what was decoded again may have a gap of its own."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Segments after the guard, numbered in order, and how many stretches were decoded again for them."""

    segments: tuple[Segment, ...]
    n_decodes: int


def guard(
    work: Assignment, segments: Sequence[Segment], voice: Voice, window: Window, *, language: str, first_id: int
) -> Asking[Guarded]:
    """Decode the gaps of a window again, from `window.start` up to where the next window begins, `window.end`."""
    held = tuple(segments)
    tried: set[tuple[int, int]] = set()
    for _ in range(MAX_ROUNDS):
        gaps = find_gaps(held, voice, start=window.start / FRAMES_PER_SECOND, end=window.end / FRAMES_PER_SECOND)
        fresh = [gap for gap in gaps if frames_of(gap) not in tried]
        tried.update(map(frames_of, fresh))
        for gap in reversed(fresh):  # from the back, so that places stay right
            found = yield from _decode_gap(work, gap, voice, language)
            if is_better(found, held, gap):
                held = (*held[: gap.first], *found, *held[gap.last :])
    numbered = tuple(replace(segment, id=number) for number, segment in enumerate(held, start=first_id))
    return Guarded(numbered, len(tried))


def _decode_gap(work: Assignment, gap: Gap, voice: Voice, language: str) -> Asking[tuple[Segment, ...]]:
    """Segments of a gap decoded on its own; none when the result does not pass the thresholds."""
    window, options, tokenizer = Window(*frames_of(gap)), work.options, work.tokenizer
    result: DecodingResult = yield Decode(window, guard_options(options, language))
    failed = failed_checks(result, options)
    if failed:
        return ()
    kept = Fallback(result, (make_attempt(result, failed),))
    split = read_window(result, window, options, timestamp_begin=tokenizer.timestamp_begin)
    found = make_segments(split.spans, kept, tokenizer, seek=window.start, first_id=0)
    segments, _ = judge(found, kept, voice, options)
    if options.word_timestamps:
        plain = Timing(segments, window.end, gap.start)
        timing = yield from time_window(work, window, result, split.spans, plain, voice)
        segments = timing.segments
    return tuple(replace(segment, recovered=True) for segment in segments)
