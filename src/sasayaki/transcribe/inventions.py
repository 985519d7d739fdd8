"""Drops text that was invented in silence, by the times and probabilities of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment, Word
from sasayaki.transcribe.requests import Window

_EDGE = 2.0
"""Seconds from the edge of a window that count as silence beside it."""

_SOUNDING = 0.5
"""Words that sound for this share of their time are not taken for invented."""


@dataclass(frozen=True, slots=True)
class TimedSegment:
    """A segment with words.

    Attributes:
        segment: with its words, and with their start and end.
        sounding: share of the time of its words that is louder than the background.
    """

    segment: Segment
    sounding: float = 1.0


@dataclass(frozen=True, slots=True)
class Kept:
    """Segments that are kept, and the first frame of what comes next."""

    segments: tuple[TimedSegment, ...]
    seek: int


@dataclass(frozen=True, slots=True)
class Heard:
    """Where segments come from.

    Attributes:
        window: of the segments.
        content_frames: length of the recording.
        last_speech: end of the last word before, in seconds.
        is_complete: whether the window has nothing behind its last segment.
    """

    window: Window
    content_frames: int
    last_speech: float
    is_complete: bool

    @property
    def start(self) -> float:
        """Start of the window in seconds."""
        return self.window.start / FRAMES_PER_SECOND

    @property
    def full_end(self) -> float:
        """End of the window in seconds if it is taken for 30 s long."""
        return (self.window.start + N_FRAMES) / FRAMES_PER_SECOND


def drop_inventions(found: Kept, heard: Heard, options: TranscribeOptions) -> Kept:
    """Drop odd segments that have silence on both sides; the next window starts there.

    The rules are openai/whisper's of `hallucination_silence_threshold`. Save in `compat`, two of them are repaired: a
    segment whose words sound is not odd, and what is left of the window behind the last word is not skipped.

    Args:
        found: segments with words, and where the next window would start.
        heard: where they come from.
        options: with the threshold.
    """
    threshold = options.hallucination_silence_threshold or 0.0
    segments, seek = found.segments, found.seek
    if options.compat and not heard.is_complete and heard.full_end - segments[-1].segment.end <= threshold:
        seek = heard.window.end
    first = segments[0]
    gap = first.segment.start - heard.start
    if _is_odd(first, options) and gap > threshold:
        return Kept((), heard.window.start + round(gap * FRAMES_PER_SECOND))
    last_end = heard.last_speech
    for place, each in enumerate(segments):
        if _is_odd(each, options) and _is_between_silence(segments, place, heard, options, last_end):
            seek = round(max(heard.start + 1, each.segment.start) * FRAMES_PER_SECOND)
            if heard.content_frames / FRAMES_PER_SECOND - each.segment.end < threshold:
                seek = heard.content_frames
            return Kept(segments[:place], seek)
        last_end = each.segment.end
    return Kept(segments, seek)


def _is_between_silence(
    segments: Sequence[TimedSegment], place: int, heard: Heard, options: TranscribeOptions, last_end: float
) -> bool:
    threshold = options.hallucination_silence_threshold or 0.0
    start, end = segments[place].segment.start, segments[place].segment.end
    after = segments[place + 1] if place + 1 < len(segments) else None
    next_start = after.segment.words[0].start if after else heard.window.end / FRAMES_PER_SECOND
    is_silent_before = start - last_end > threshold or start < threshold or start - heard.start < _EDGE
    is_silent_after = next_start - end > threshold or heard.full_end - end < _EDGE
    return is_silent_before and (is_silent_after or (after is not None and _is_odd(after, options)))


def _is_odd(each: TimedSegment, options: TranscribeOptions) -> bool:
    """Whether words are too unlikely, too short or too long; by the first eight that are not punctuation."""
    if not options.compat and each.sounding >= _SOUNDING:
        return False
    marks = options.prepend_punctuations + options.append_punctuations
    words = [word for word in each.segment.words if word.word not in marks][:8]
    score = sum(_oddity(word) for word in words)
    return score >= 3 or score + 0.01 >= len(words)


def _oddity(word: Word) -> float:
    duration = word.end - word.start
    return (word.probability < 0.15) + max(0.0, 0.133 - duration) * 15 + max(0.0, duration - 2.0)
