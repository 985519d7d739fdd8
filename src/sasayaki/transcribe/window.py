"""A window is decoded: with the text before it, and without it where segments begin the same by habit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sasayaki.alignment.timestamps import WindowSplit
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.decoding.recorder import Tracer
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.context import Context
from sasayaki.transcribe.fallback import Fallback, decode_with_fallback
from sasayaki.transcribe.habits import find_habit, n_beginning_with
from sasayaki.transcribe.requests import Asking, Decode, Place, Window
from sasayaki.transcribe.segments import make_segments, read_window
from sasayaki.transcribe.short import decode_shortened
from sasayaki.vad.regions import Region

LEFT_OUT_FRAMES = 100
"""A segment that begins so shortly before the end of a whole window may be left out: there may be no more of it."""

HABIT = "habit"
"""Why a decode that passed its thresholds was not kept, in `Attempt.failed`."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """How a window is decoded, whatever it is told.

    Attributes:
        window: what to listen to.
        options: how; their language is not read.
        tokenizer: of the model, for the task.
        language: code of the language.
        spoken: where there is speech in the window.
        first_id: number of its first segment.
        is_last: whether the clip ends with it, so that it may be short.
        is_whole: whether nothing of it is left to a next window.
        tracer: records the decodes; None records nothing.
    """

    window: Window
    options: TranscribeOptions
    tokenizer: Tokenizer
    language: str
    spoken: Sequence[Region]
    first_id: int
    is_last: bool
    is_whole: bool
    tracer: Tracer | None

    def ladder(self, context: Context, window: Window) -> Iterator[Decode]:
        """The decodes of a window, one at each temperature."""
        write_until = max(window.n_frames - LEFT_OUT_FRAMES, 0) / FRAMES_PER_SECOND if self.is_whole else None
        for temperature in self.options.temperatures:
            options = self.options.for_window(temperature, language=self.language, prompt=context.prompt())
            yield Decode(window, replace(options, write_until=write_until), self.tracer)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a window gave.

    Attributes:
        window: as it was encoded for the result.
        context: what it was told.
        kept: the result, and every attempt.
        split: where its segments are, and how far it leads.
        segments: as the result has them.
    """

    window: Window
    context: Context
    kept: Fallback
    split: WindowSplit
    segments: tuple[Segment, ...]

    def texts(self) -> list[str]:
        """Of its segments."""
        return [segment.text for segment in self.segments]


def decode_window(hearing: Hearing, place: Place) -> Asking[Heard]:
    """Decode a window with the context of its place.

    Where its segments begin with the same word as if by habit, it is decoded without the text before it, too, told the
    initial prompt alone; that is kept if it passes the thresholds and at most half as many of its segments do so.
    """
    heard, anew = (yield from _decode(hearing, place.context)), place.context.anew()
    if not hearing.options.rejects_loops or place.context.previous in ((), anew.previous):
        return heard
    word = find_habit([each.text for each in place.said], heard.texts())
    if not word:
        return heard
    without = yield from _decode(hearing, anew)
    is_broken = 2 * n_beginning_with(word, without.texts()) <= n_beginning_with(word, heard.texts())
    is_freed = is_broken and not without.kept.attempts[-1].failed
    return _of_both(heard, without, without if is_freed else heard)


def _decode(hearing: Hearing, context: Context) -> Asking[Heard]:
    window, options, timestamp_begin = hearing.window, hearing.options, hearing.tokenizer.timestamp_begin

    def ladder(window: Window) -> Iterator[Decode]:
        return hearing.ladder(context, window)

    if hearing.is_last:
        window, kept = yield from decode_shortened(window, ladder, options, timestamp_begin, hearing.spoken)
    else:
        kept = yield from decode_with_fallback(ladder(window), options, hearing.spoken)
    split = read_window(kept.result, window, options, timestamp_begin=timestamp_begin, is_whole=hearing.is_whole)
    segments = make_segments(split.spans, kept, hearing.tokenizer, seek=window.start, first_id=hearing.first_id)
    return Heard(window, context, kept, split, segments)


def _of_both(first: Heard, second: Heard, chosen: Heard) -> Heard:
    """One of two, with the attempts of both in their order."""
    attempts = tuple(
        attempt if attempt.failed or heard is chosen else replace(attempt, failed=(HABIT,))
        for heard in (first, second)
        for attempt in heard.kept.attempts
    )
    segments = tuple(replace(segment, attempts=attempts) for segment in chosen.segments)
    return replace(chosen, kept=replace(chosen.kept, attempts=attempts), segments=segments)
