"""What the loop over a recording writes into a trace: the beginning, and each window with its attempts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sasayaki.decoding.recorder import Tracer, plain_options
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment
from sasayaki.trace import TranscriptionStarted, WindowAttempt, WindowFinished, WindowSegment, WindowWord
from sasayaki.transcribe.fallback import Fallback
from sasayaki.transcribe.requests import Window
from sasayaki.transcribe.silence import is_silent


def record_start(
    tracer: Tracer,
    options: TranscribeOptions,
    *,
    model: str,
    duration: float,
    language: str,
    language_probs: Mapping[str, float] | None,
) -> None:
    """Record that a recording of `duration` seconds is about to be transcribed."""
    tracer.trace.record(
        TranscriptionStarted(
            model=model,
            duration=duration,
            language=language,
            language_probs=language_probs,
            options=plain_options(options),
        )
    )


def record_window(
    tracer: Tracer,
    kept: Fallback,
    segments: Sequence[Segment],
    rejected: Sequence[Segment],
    options: TranscribeOptions,
    *,
    window: Window,
    next_seek: int,
) -> None:
    """Record a window that is done.

    Args:
        tracer: that of the window, which has seen its decodes.
        kept: the result and the attempts.
        segments: what came out.
        rejected: what was taken for invented.
        options: the transcription's, which say what counts as silent.
        window: its frames.
        next_seek: first frame of what comes next.
    """
    decodes = zip(tracer.decodes, kept.attempts, strict=True)
    tracer.trace.record(
        WindowFinished(
            window=tracer.window or 0,
            seek=window.start,
            end=window.end,
            next_seek=next_seek,
            language=kept.result.language,
            attempts=tuple(
                WindowAttempt(decode=number, temperature=attempt.temperature, failed=attempt.failed)
                for (number, _), attempt in decodes
            ),
            kept=next(number for number, result in tracer.decodes if result is kept.result),
            is_silent=is_silent(kept.result, options),
            segments=tuple(map(_plain_segment, segments)),
            rejected=tuple(map(_plain_segment, rejected)),
        )
    )


def _plain_segment(segment: Segment) -> WindowSegment:
    words = tuple(
        WindowWord(word=word.word, start=word.start, end=word.end, probability=word.probability)
        for word in segment.words
    )
    return WindowSegment(
        id=segment.id,
        start=segment.start,
        end=segment.end,
        text=segment.text,
        words=words,
        speech=None if math.isnan(segment.speech) else segment.speech,
        recovered=segment.recovered,
        rejected=segment.rejected,
    )
