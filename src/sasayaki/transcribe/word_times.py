"""Word times in the loop: asks where the decoder looks and what sounds, and gives segments their words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from sasayaki.alignment.reference_rules import SegmentTimes, fit_segment, median_duration, shorten_long_words
from sasayaki.alignment.timestamps import TokenSpan, ends_with_single_timestamp
from sasayaki.alignment.word_groups import WordGroup, group_words
from sasayaki.alignment.words import WordTime, time_words, time_words_by_attention
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult, Segment, Word
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.inventions import Heard, Kept, TimedSegment, drop_inventions
from sasayaki.transcribe.requests import Asking, Attend, Hear, Window
from sasayaki.vad.voice import Voice

if TYPE_CHECKING:
    from sasayaki.transcribe.loop import Assignment

TAIL = 0.5
"""Seconds of voice activity behind the end of a word that are its own: a sound is found to end sooner than a voice."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What a window gave.

    Attributes:
        segments: of the window.
        seek: first frame of what comes next.
        last_speech: end of the last word so far, in seconds.
    """

    segments: tuple[Segment, ...]
    seek: int
    last_speech: float


@dataclass(frozen=True, slots=True)
class Sounding:
    """A window as the words in it are looked for.

    Attributes:
        window: its frames.
        voice: voice activity in it; None where nobody listened.
    """

    window: Window
    voice: Voice | None


def time_window(
    work: Assignment,
    window: Window,
    result: DecodingResult,
    spans: Sequence[TokenSpan],
    plain: Timing,
    voice: Voice | None,
) -> Asking[Timing]:
    """Give the segments of a window their words, and start the next window where speech goes on behind the last.

    Args:
        work: with `word_timestamps`.
        window: what was decoded.
        result: what was said there.
        spans: of the result, in order.
        plain: what the window gave without words.
        voice: voice activity in the window; None where nobody listened.
    """
    timed = yield from time_segments(
        work, Sounding(window, voice), result, spans, plain.segments, last_speech=plain.last_speech
    )
    if not timed:
        return plain
    is_complete = ends_with_single_timestamp(result.tokens, work.tokenizer.timestamp_begin)
    seek, last_end = plain.seek, timed[-1].segment.end
    if not is_complete and last_end > window.start / FRAMES_PER_SECOND:
        resumed = next_speech(last_end, plain.seek / FRAMES_PER_SECOND, voice) if voice else last_end
        frame = resumed * FRAMES_PER_SECOND
        seek = min(round(frame) if work.options.compat else math.ceil(round(frame, 3)), window.end)
    kept = Kept(tuple(timed), seek)
    if work.options.hallucination_silence_threshold is not None:
        heard = Heard(window, work.content_frames, plain.last_speech, is_complete=is_complete)
        kept = drop_inventions(kept, heard, work.options)
    last_speech = kept.segments[-1].segment.end if kept.segments else plain.last_speech
    return Timing(_with_length(kept.segments), max(kept.seek, window.start + 1), last_speech)


def _with_length(timed: Sequence[TimedSegment]) -> tuple[Segment, ...]:
    """The segments, numbered anew, without those whose words openai/whisper's rules leave no time, as it does."""
    held = [each.segment for each in timed if each.segment.end > each.segment.start]
    return tuple(replace(segment, id=timed[0].segment.id + place) for place, segment in enumerate(held))


def next_speech(last_end: float, latest: float, voice: Voice) -> float:
    """Where speech goes on behind the last word: not before its end, and not behind `latest` if that is later.

    The speech of the word itself may last `TAIL` longer. What is left of it alone, with silence behind it, invites
    invented text.
    """
    later = [region.start for region in voice.regions if region.end > last_end + TAIL]
    return max(last_end, min([latest, *later]))


def time_segments(
    work: Assignment,
    sounding: Sounding,
    result: DecodingResult,
    spans: Sequence[TokenSpan],
    segments: Sequence[Segment],
    *,
    last_speech: float = 0.0,
) -> Asking[list[TimedSegment]]:
    """Segments of a window with their words.

    Args:
        work: whose heads tell where the words are.
        sounding: the window.
        result: what was said there.
        spans: of the result, in order.
        segments: those of the spans that are kept.
        last_speech: end of the last word before the window, in seconds; read for `compat` alone.
    """
    if not segments:
        return []
    tokenizer = work.tokenizer.with_language(result.language)
    pieces = _pieces(result, spans, segments, tokenizer, work.options)
    if work.options.compat:
        pieces = [piece for piece in pieces if piece.segment]
    find = find_reference_times if work.options.compat else find_times
    found = yield from find(work, sounding, tokenizer, [group for piece in pieces for group in piece.groups])
    times = iter(found.times)
    timed: list[TimedSegment] = []
    for piece in pieces:
        placed = tuple(
            _moved(time, sounding.window.start / FRAMES_PER_SECOND) for time in islice(times, len(piece.groups))
        )
        if piece.segment is None:
            continue
        fitted = SegmentTimes(placed[0].start, placed[-1].end, placed)
        if work.options.compat:
            fitted = SegmentTimes(piece.segment.start, piece.segment.end, placed)
            fitted = fit_segment(fitted, last_speech=last_speech, usual=found.usual)
            last_speech = fitted.end
        timed.append(_timed(piece.segment, piece, fitted))
    return timed


def time_again(work: Assignment, sounding: Sounding, segment: Segment) -> Asking[Segment]:
    """A segment with the words that it has, looked for in another window."""
    tokenizer = work.tokenizer.with_language(segment.language)
    found = yield from find_times(
        work, sounding, tokenizer, _groups(segment.tokens, segment.text, tokenizer, work.options)
    )
    placed = (_moved(time, sounding.window.start / FRAMES_PER_SECOND) for time in found.times)
    words = tuple(
        replace(word, start=time.start, end=time.end) for word, time in zip(segment.words, placed, strict=True)
    )
    return replace(segment, start=words[0].start, end=words[-1].end, words=words)


@dataclass(frozen=True, slots=True)
class Found:
    """Times of words in seconds from the start of their window, and what openai/whisper takes for a usual duration."""

    times: list[WordTime]
    usual: float = 0.0


def find_times(
    work: Assignment, sounding: Sounding, tokenizer: Tokenizer, groups: Sequence[WordGroup]
) -> Asking[Found]:
    """Times of the words of a window."""
    window = sounding.window
    weights = yield from _attend(work, window, tokenizer, groups)
    levels = yield Hear(window)
    voiced = sounding.voice.voiced_frames(window.start, window.end) if sounding.voice else None
    begin = len(tokenizer.sot_sequence)
    n_token = sum(len(group.tokens) for group in groups)
    return Found(time_words(groups, weights[:, begin : begin + n_token + 1], work.heads.lags, levels, voiced))


def find_reference_times(
    work: Assignment, sounding: Sounding, tokenizer: Tokenizer, groups: Sequence[WordGroup]
) -> Asking[Found]:
    """The same as openai/whisper finds them, which times punctuation marks apart before it joins them to words."""
    parts = [_apart(group, tokenizer) for group in groups]
    flat = [part for own in parts for part in own]
    weights = yield from _attend(work, sounding.window, tokenizer, groups)
    times = time_words_by_attention(flat, weights, sounding.window.n_frames)
    usual = median_duration(times)
    shortened = iter(shorten_long_words(flat, times, usual))
    found = []
    for group, own in zip(groups, parts, strict=True):
        of_parts = list(islice(shortened, len(own)))
        n_before = [sum(len(part.tokens) for part in own[:place]) for place in range(len(own))]
        found.append(of_parts[n_before.index(group.n_before)])
    return Found(found, usual)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text tokens of a window that follow each other.

    Attributes:
        segment: that they make; None for those that are left to the next window.
        groups: words of them.
        probabilities: of each of them, as it was sampled.
    """

    segment: Segment | None
    groups: tuple[WordGroup, ...]
    probabilities: tuple[float, ...]


def _pieces(
    result: DecodingResult,
    spans: Sequence[TokenSpan],
    segments: Sequence[Segment],
    tokenizer: Tokenizer,
    options: TranscribeOptions,
) -> list[_Piece]:
    """All text of a window, since what no segment has takes time as well; without hypotheses equally likely."""
    n_token = len(result.tokens)
    logprobs = result.hypotheses[0].token_logprobs if result.hypotheses else [result.avg_logprob] * n_token
    sampled = iter(zip(result.tokens, logprobs, strict=True))
    waiting = list(segments)[::-1]
    pieces = []
    for size in [*(len(span.tokens) for span in spans), n_token]:
        own = list(islice(sampled, size))
        tokens = tuple(token for token, _ in own)
        is_segment = bool(waiting) and waiting[-1].tokens == tokens
        segment = waiting.pop() if is_segment else None
        groups = _groups(tokens, segment.text if segment else None, tokenizer, options)
        probabilities = tuple(math.exp(logprob) for token, logprob in own if token < tokenizer.eot)
        pieces.append(_Piece(segment, tuple(groups), probabilities))
    return pieces


def _groups(
    tokens: Sequence[int], text: str | None, tokenizer: Tokenizer, options: TranscribeOptions
) -> list[WordGroup]:
    return group_words(
        [token for token in tokens if token < tokenizer.eot],
        tokenizer,
        prepended=options.prepend_punctuations,
        appended=options.append_punctuations,
        text=text,
    )


def _attend(work: Assignment, window: Window, tokenizer: Tokenizer, groups: Sequence[WordGroup]) -> Asking[Any]:
    """Attention of the start sequence, the text and the end; tokens without room in the context look as the last."""
    text = (token for group in groups for token in group.tokens)
    tokens = (*tokenizer.sot_sequence_including_notimestamps, *text, tokenizer.eot)
    weights = yield Attend(window, tokens[: work.n_text_ctx], work.heads.pairs)
    n_missing = max(0, len(tokens) - work.n_text_ctx)
    return np.pad(weights, ((0, 0), (0, n_missing), (0, 0)), mode="edge") if n_missing else weights


def _apart(group: WordGroup, tokenizer: Tokenizer) -> list[WordGroup]:
    """A word and its punctuation marks as words of their own."""
    first, last = group.n_before, len(group.tokens) - group.n_after
    before, after = (
        group_words(marks, tokenizer, prepended="", appended="")
        for marks in (group.tokens[:first], group.tokens[last:])
    )
    return [*before, WordGroup(group.text, group.tokens[first:last]), *after]


def _moved(time: WordTime, offset: float) -> WordTime:
    return replace(time, start=round(offset + time.start, 3), end=round(offset + time.end, 3))


def _timed(segment: Segment, piece: _Piece, times: SegmentTimes) -> TimedSegment:
    rest = iter(piece.probabilities)
    words = []
    for group, time in zip(piece.groups, times.words, strict=True):
        own = list(islice(rest, len(group.tokens)))
        spoken = own[group.n_before : len(own) - group.n_after]
        words.append(Word(word=group.text, start=time.start, end=time.end, probability=fmean(spoken)))
    lengths = [time.end - time.start for time in times.words]
    sounding = sum(time.sounding * length for time, length in zip(times.words, lengths, strict=True))
    share = sounding / sum(lengths) if sum(lengths) else 0.0
    return TimedSegment(replace(segment, start=times.start, end=times.end, words=tuple(words)), share)
