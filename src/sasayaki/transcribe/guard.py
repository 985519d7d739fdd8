"""The coverage guard: asks for the gaps of a window again, and puts what is better into place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult, Segment
from sasayaki.transcribe.coverage import (
    ECHO,
    MIN_BARE_SPEECH,
    Gap,
    echo,
    find_gaps,
    frames_of,
    guard_options,
    is_better,
    is_thin,
)
from sasayaki.transcribe.evidence import MAX_CHARACTERS_PER_SECOND, UNSURE_OF_TEXT, judge
from sasayaki.transcribe.fallback import Fallback
from sasayaki.transcribe.repetition import words_of
from sasayaki.transcribe.requests import Asking, Decode, Window
from sasayaki.transcribe.segments import make_segments, read_window, within_speech
from sasayaki.transcribe.short import decode_shortened
from sasayaki.transcribe.silence import UNSURE_OF_SPEECH
from sasayaki.transcribe.word_times import Timing, time_window
from sasayaki.vad.voice import Voice

if TYPE_CHECKING:
    from sasayaki.transcribe.loop import Assignment

MAX_ROUNDS = 2
"""How often a window is looked through: what was decoded again may have a gap of its own."""

MAX_HALVINGS = 3
"""How often a gap is halved whose text repeats itself: a word said ten times is a loop where five times are none."""

MIN_HALF = 1.2
"""Seconds of the shortest half."""

MIN_SWALLOWED = 8.0
"""Seconds of speech from which a gap is halved whose text says little of it: the model leaves long fast speech behind
its first sentence, and does so again from the same start."""

MIN_CONFIDENCE = 0.2
"""Text of a short stretch in which fewer words are expected to be right may stand for a sound that is none."""

REPETITIVE = frozenset({"loop_guard", "compression_ratio_threshold"})
"""Checks that a text fails which repeats itself."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Segments in the order of time, and how many stretches were decoded again for them."""

    segments: tuple[Segment, ...] = ()
    n_decodes: int = 0

    def __add__(self, later: Guarded) -> Guarded:
        return Guarded(self.segments + later.segments, self.n_decodes + later.n_decodes)


def guard(
    work: Assignment,
    segments: Sequence[Segment],
    rejected: Sequence[Segment],
    voice: Voice,
    window: Window,
    *,
    language: str,
    first_id: int,
) -> Asking[Guarded]:
    """Decode the gaps of a window again, from `window.start` up to where the next window begins, `window.end`.

    The segments that it returns are numbered from `first_id` on.
    """
    held, n_decodes = tuple(segments), 0
    tried: set[tuple[int, int]] = set()
    start, end = window.start / FRAMES_PER_SECOND, window.end / FRAMES_PER_SECOND
    for _ in range(MAX_ROUNDS):
        gaps = find_gaps(held, voice, start=start, end=end, rejected=rejected)
        fresh = [gap for gap in gaps if frames_of(gap) not in tried]
        tried.update(map(frames_of, fresh))
        for gap in reversed(fresh):  # from the back, so that places stay right
            found = yield from _decode_gap(work, gap, voice, language)
            n_decodes += found.n_decodes
            if is_better(found.segments, held, gap):
                held = (*held[: gap.first], *found.segments, *held[gap.last :])
    numbered = tuple(replace(segment, id=number) for number, segment in enumerate(held, start=first_id))
    return Guarded(numbered, n_decodes)


def _decode_gap(
    work: Assignment,
    gap: Gap,
    voice: Voice,
    language: str,
    n_halvings: int = MAX_HALVINGS,
    repeated: frozenset[str] = frozenset(),
) -> Asking[Guarded]:
    """Segments of a gap decoded on its own, or of its halves when it repeats itself or says little; none if none pass.

    The halves of a stretch that repeats itself are told its words, `repeated`: a text of the same is no guess.
    """
    options, spoken = work.options, voice.within(gap.start, gap.end)
    ladder = partial(_ladder, guard_options(options, language))
    window, kept = yield from decode_shortened(
        _window(gap, voice), ladder, options, work.tokenizer.timestamp_begin, spoken
    )
    result, failed = kept.result, kept.attempts[-1].failed
    found = Guarded(n_decodes=1)
    if not failed and _is_sure(result, gap, voice):
        is_agreed = words_of(result.text) == repeated
        segments = yield from _gap_segments(work, window, voice, kept, is_agreed=is_agreed)
        found = Guarded(segments, n_decodes=1)
    if REPETITIVE.isdisjoint(failed) and not _says_little(found.segments, gap, voice):
        return found
    if not n_halvings or gap.end - gap.start < 2 * MIN_HALF:
        return found
    middle, told = round(voice.quietest(gap.start, gap.end), 2), words_of(result.text)  # where a frame begins
    first = yield from _decode_gap(work, replace(gap, end=middle), voice, language, n_halvings - 1, told)
    second = yield from _decode_gap(work, replace(gap, start=middle), voice, language, n_halvings - 1, told)
    halves = first + second
    is_more = is_better(halves.segments, found.segments, Gap(gap.start, gap.end, 0, len(found.segments)))
    if found.segments and (not is_more or echo(second.segments, first.segments) >= ECHO):
        halves = replace(halves, segments=found.segments)
    return replace(halves, n_decodes=found.n_decodes + halves.n_decodes)


def _says_little(segments: Sequence[Segment], gap: Gap, voice: Voice) -> bool:
    """Whether a text seems to end behind its first sentence; where there is none, nobody may have spoken."""
    is_long = voice.seconds(gap.start, gap.end) >= MIN_SWALLOWED
    return bool(segments) and is_long and is_thin(segments, voice, gap.start, gap.end)


def _is_sure(result: DecodingResult, gap: Gap, voice: Voice) -> bool:
    """Whether a stretch has enough speech, or the model little doubt of it: what is short may be a laugh or a cough."""
    if not _is_short(gap, voice):
        return True
    if len(result.text) > MAX_CHARACTERS_PER_SECOND * voice.seconds(gap.start, gap.end):
        return False
    is_likely = result.no_speech_prob <= UNSURE_OF_SPEECH or result.avg_logprob >= UNSURE_OF_TEXT
    return is_likely and not result.confidence < MIN_CONFIDENCE


def _is_short(gap: Gap, voice: Voice) -> bool:
    return voice.seconds(gap.start, gap.end) < MIN_BARE_SPEECH


def _window(gap: Gap, voice: Voice) -> Window:
    """A gap, a short one with silence behind it: single words are heard better so (docs/log.md)."""
    start, end = frames_of(gap)
    return Window(start, end, ends_in_silence=_is_short(gap, voice))


def _ladder(options: DecodingOptions, window: Window) -> Iterator[Decode]:
    yield Decode(window, options)


def _gap_segments(
    work: Assignment, window: Window, voice: Voice, kept: Fallback, *, is_agreed: bool
) -> Asking[tuple[Segment, ...]]:
    """Segments of a result that passes the thresholds; those that nobody said are left out, guesses if not agreed."""
    result, options, tokenizer = kept.result, work.options, work.tokenizer
    split = read_window(result, window, options, timestamp_begin=tokenizer.timestamp_begin)
    found = make_segments(split.spans, kept, tokenizer, seek=window.start, first_id=0)
    segments, rejected = yield from judge(found, kept, voice, options, window)
    if is_agreed and all(each.rejected == "guess" for each in rejected):
        segments = tuple(replace(each, rejected="") for each in sorted((*segments, *rejected), key=attrgetter("start")))
    if options.word_timestamps:
        plain = Timing(segments, window.end, window.start / FRAMES_PER_SECOND)
        timing = yield from time_window(work, window, result, split.spans, plain, voice)
        segments = timing.segments
    else:
        segments = within_speech(segments, voice)
    return tuple(replace(segment, recovered=True) for segment in segments)
