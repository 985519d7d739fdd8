"""Segments from the tokens of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sasayaki.alignment.timestamps import TokenSpan, WindowSplit, split_window
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.decoding.confidence import cut_trust
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult, Segment, mean_probability
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.fallback import Fallback
from sasayaki.transcribe.requests import Window
from sasayaki.transcribe.silence import is_silent
from sasayaki.vad.voice import Voice

TOUCH = 0.3
"""Seconds of a region of speech that a segment may hold without it being its own: timestamps are coarse."""


def read_window(
    result: DecodingResult,
    window: Window,
    options: TranscribeOptions,
    *,
    timestamp_begin: int,
    is_whole: bool = False,
) -> WindowSplit:
    """The spans of a window and how far it leads; a silent one is passed as a whole.

    Of one that `is_whole` nothing is left to a next window, unless the text was cut off.
    """
    split = split_window(
        result.tokens,
        timestamp_begin=timestamp_begin,
        n_frames=window.n_frames,
        is_whole=is_whole and result.hypotheses[0].stop == "eot",
    )
    return WindowSplit(split.spans, window.n_frames) if is_silent(result, options) else split


def with_language(segments: Sequence[Segment], probability: float) -> tuple[Segment, ...]:
    """The segments with the probability of their language."""
    return tuple(replace(segment, language_probability=probability) for segment in segments)


def within_speech(segments: Sequence[Segment], voice: Voice | None) -> tuple[Segment, ...]:
    """The segments without the silence before and behind their speech, over which timestamps often reach.

    Regions that a segment only touches are those of its neighbours. Where nobody listened, or nothing was heard in a
    segment's time, its times stay.
    """
    return tuple(_within_speech(segment, voice) for segment in segments) if voice else tuple(segments)


def _within_speech(segment: Segment, voice: Voice) -> Segment:
    own = [
        region
        for region in voice.regions
        if min(region.end, segment.end) - max(region.start, segment.start) > min(TOUCH, (region.end - region.start) / 2)
    ]
    if not own:
        return segment
    start, end = max(segment.start, own[0].start), min(segment.end, own[-1].end)
    return replace(segment, start=round(start, 3), end=round(end, 3))


def make_segments(
    spans: Sequence[TokenSpan], kept: Fallback, tokenizer: Tokenizer, *, seek: int, first_id: int
) -> tuple[Segment, ...]:
    """Segments with text and some length; the others are dropped.

    Args:
        spans: of the result that was kept.
        kept: it, and the attempts that led to it.
        tokenizer: of the model.
        seek: first frame of the window.
        first_id: number of the first segment.
    """
    result, offset = kept.result, seek / FRAMES_PER_SECOND
    texts = tokenizer.decode_pieces([span.tokens for span in spans])
    trusts = cut_trust(result, [span.tokens for span in spans], tokenizer)
    spoken = [
        (span, text, trust)
        for span, text, trust in zip(spans, texts, trusts, strict=True)
        if text.strip() and span.end > span.start
    ]
    return tuple(
        Segment(
            id=number,
            seek=seek,
            start=round(offset + span.start, 3),
            end=round(offset + span.end, 3),
            text=text,
            tokens=span.tokens,
            temperature=result.temperature,
            avg_logprob=result.avg_logprob,
            compression_ratio=result.compression_ratio,
            no_speech_prob=result.no_speech_prob,
            language=result.language,
            attempts=kept.attempts,
            confidence=mean_probability(trust.words),
            token_probs=trust.token_probs,
            word_scores=trust.words,
            alternatives=trust.alternatives,
        )
        for number, (span, text, trust) in enumerate(spoken, start=first_id)
    )
