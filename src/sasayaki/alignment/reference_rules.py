"""openai/whisper's repairs of word times, for transcriptions that are to be as its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from sasayaki.alignment.word_groups import WordGroup
from sasayaki.alignment.words import WordTime

_SENTENCE_ENDS = ".。!！?？"
_LONGEST_MEDIAN = 0.7
_TRUST_IN_SEGMENT = 0.5


@dataclass(frozen=True, slots=True)
class SegmentTimes:
    """A segment and its words, in seconds."""

    start: float
    end: float
    words: tuple[WordTime, ...]


def median_duration(times: Sequence[WordTime]) -> float:
    """Median of the durations that are not zero, at most 0.7 s; 0 without any."""
    durations = [time.end - time.start for time in times if time.end > time.start]
    return min(_LONGEST_MEDIAN, median(durations)) if durations else 0.0


def shorten_long_words(words: Sequence[WordGroup], times: Sequence[WordTime], usual: float) -> list[WordTime]:
    """Sentence marks lose what is behind twice the usual duration, words after them what is before it.

    Args:
        words: with each punctuation mark as a word of its own.
        times: of the words.
        usual: `median_duration`.
    """
    most = 2 * usual
    shortened = list(times)
    if not usual:
        return shortened
    for place in range(1, len(words)):
        time = shortened[place]
        if time.end - time.start <= most:
            continue
        if words[place].text in _SENTENCE_ENDS:
            shortened[place] = replace(time, end=time.start + most)
        elif words[place - 1].text in _SENTENCE_ENDS:
            shortened[place] = replace(time, start=time.end - most)
    return shortened


def fit_segment(segment: SegmentTimes, *, last_speech: float, usual: float) -> SegmentTimes:
    """Shorten what is too long after a pause, and make the ends of a segment and of its words agree.

    Args:
        segment: with at least one word; all times in seconds of the recording.
        last_speech: end of the segment before.
        usual: `median_duration` of the window.
    """
    words = list(segment.words)
    _shorten_after_pause(words, last_speech=last_speech, usual=usual)
    start, end = segment.start, segment.end
    if start < words[0].end and start - _TRUST_IN_SEGMENT > words[0].start:
        words[0] = replace(words[0], start=max(0.0, min(words[0].end - usual, start)))
    else:
        start = words[0].start
    if end > words[-1].start and end + _TRUST_IN_SEGMENT < words[-1].end:
        words[-1] = replace(words[-1], end=max(words[-1].start + usual, end))
    else:
        end = words[-1].end
    return SegmentTimes(start, end, tuple(words))


def _shorten_after_pause(words: list[WordTime], *, last_speech: float, usual: float) -> None:
    """Give the first two words behind a pause no more than twice the usual duration, in place."""
    first, most = words[0], 2 * usual
    second = words[1] if len(words) > 1 else None
    is_long = first.end - first.start > most or (second is not None and second.end - first.start > 2 * most)
    if first.end - last_speech <= 4 * usual or not is_long:
        return
    if second is not None and second.end - second.start > most:
        border = max(second.end / 2, second.end - most)
        first, words[1] = replace(first, end=border), replace(second, start=border)
    words[0] = replace(first, start=max(0.0, first.end - most))
