"""The sequential loop over a recording: window, decode, segments, next window. It asks, and knows no engine."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace

from sasayaki.alignment.heads import NO_HEADS, AlignmentHeads
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.decoding.recorder import Tracer
from sasayaki.option_values import parse_clip_timestamps
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.clips import Clip, make_clips
from sasayaki.transcribe.context import Context
from sasayaki.transcribe.evidence import judge
from sasayaki.transcribe.fallback import Fallback
from sasayaki.transcribe.guard import guard
from sasayaki.transcribe.holes import without_holes
from sasayaki.transcribe.language import WindowLanguage
from sasayaki.transcribe.requests import Answer, Asking, Listen, Loop, Place, Request, Window, WindowResult
from sasayaki.transcribe.segments import with_language, within_speech
from sasayaki.transcribe.silence import is_silent, next_window
from sasayaki.transcribe.sound_check import without_loops
from sasayaki.transcribe.switching import spoken_window
from sasayaki.transcribe.tracing import record_window
from sasayaki.transcribe.window import Hearing, decode_window
from sasayaki.transcribe.word_times import Sounding, Timing, time_window
from sasayaki.vad.voice import Voice

TRUSTED_TEMPERATURE = 0.5
"""Text sampled hotter than this is no context for the next window (openai/whisper's rule)."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a loop is to transcribe, and how.

    Attributes:
        content_frames: length of the recording, 100 frames a second.
        options: how; their language is not read.
        tokenizer: of the model, for the task.
        n_text_ctx: most tokens that the decoder can be fed.
        heads: whose attention gives word times.
        tracer: records every window; None records nothing.
        language: code of the language to decode in, or to begin with when each window's is detected.
        language_probability: of that language; NaN when it was given.
    """

    content_frames: int
    options: TranscribeOptions
    tokenizer: Tokenizer
    n_text_ctx: int
    heads: AlignmentHeads = NO_HEADS
    tracer: Tracer | None = None
    language: str = "en"
    language_probability: float = math.nan

    def begin(self) -> Place:
        """The place in front of the first window."""
        given = self.options.initial_prompt or ()
        prompt = self.tokenizer.encode(" " + given.strip()) if isinstance(given, str) else given
        context = Context.begin(prompt, is_carried=self.options.carry_initial_prompt, limit=self.n_text_ctx // 2 - 1)
        return Place(-1, 0, 0, self.language, context, language_probability=self.language_probability)


def transcribe_recording(work: Assignment, place: Place) -> Loop:
    """Transcribe the rest of a recording from a place on, clip by clip."""
    clips = make_clips(parse_clip_timestamps(work.options.clip_timestamps), work.content_frames)
    for number, clip in enumerate(clips):
        if number > place.clip:
            place = replace(place, clip=number, seek=clip.start)
        if number == place.clip:
            place = yield from transcribe_clip(work, clip, place)


def transcribe_clip(work: Assignment, clip: Clip, place: Place) -> Generator[Request | WindowResult, Answer, Place]:
    """Transcribe the rest of a clip from a place on, window by window; the place behind it."""
    while place.seek < clip.end:
        window, voice = yield from next_window(place.seek, clip.end, work.options)
        if window.n_frames:
            if clip.is_cut and not voice and not work.options.compat:
                voice = yield Listen(window, replace(work.options, vad="energy"))
            is_last = window.end == clip.end
            finished = yield from transcribe_window(
                work, window, voice, place, is_last=is_last, is_whole=is_last and clip.is_cut
            )
        else:
            finished = WindowResult(window, (), done=window.end, place=replace(place, seek=window.end))
        place = finished.place
        yield finished
    return place


def transcribe_window(
    work: Assignment, window: Window, voice: Voice | None, place: Place, *, is_last: bool, is_whole: bool = False
) -> Asking[WindowResult]:
    """Transcribe one window, in which voice activity is known or not.

    The last of a clip may be short, and be written as a whole.
    """
    previous = WindowLanguage(place.language, place.language_probability)
    whole, listened = window, voice if work.options.listens else None
    window, spoken = yield from spoken_window(whole, listened, work.options, previous)
    language, is_last = spoken.code, is_last and window == whole
    tracer = work.tracer and work.tracer.next_window()
    start, end = window.start / FRAMES_PER_SECOND, window.end / FRAMES_PER_SECOND
    hearing = Hearing(
        window,
        work.options,
        work.tokenizer,
        language,
        spoken=listened.within(start, end) if listened else (),
        first_id=place.n_segment,
        is_last=is_last,
        is_whole=is_whole and is_last,
        tracer=tracer,
    )
    heard = yield from decode_window(hearing, place)
    window, kept, split = heard.window, heard.kept, heard.split
    segments, rejected = yield from judge(heard.segments, kept, listened, work.options, window)
    timing = Timing(segments, window.start + split.advance, place.last_speech)
    if work.options.word_timestamps:
        timing = yield from time_window(work, window, kept.result, split.spans, timing, listened)
        segments = timing.segments
    else:
        segments = within_speech(segments, listened)
    n_guard_decodes = 0
    if voice and work.options.coverage_guard:
        sounding = Sounding(window, voice)
        segments = yield from without_holes(work, sounding, kept.result, split.spans, segments)
        reached = Window(window.start, min(timing.seek, window.end))
        guarded = yield from guard(
            work, segments, rejected, voice, reached, language=language, first_id=place.n_segment
        )
        segments, n_guard_decodes = guarded.segments, guarded.n_decodes
    said = place.said
    if work.options.rejects_loops:
        checked = yield from without_loops(segments, window, said)
        segments, rejected, said = checked.segments, (*rejected, *checked.loops), checked.said
    segments, rejected = (with_language(some, spoken.probability) for some in (segments, rejected))
    next_place = replace(
        place,
        seek=timing.seek,
        last_speech=timing.last_speech,
        n_segment=place.n_segment + len(segments),
        language=language,
        language_probability=spoken.probability,
        context=next_context(heard.context, kept, segments, work.options),
        said=said,
    )
    if tracer:
        record_window(tracer, kept, segments, rejected, work.options, window=window, next_seek=next_place.seek)
    return WindowResult(
        window,
        segments,
        done=min(next_place.seek, window.end),
        place=next_place,
        rejected=rejected,
        n_guard_decodes=n_guard_decodes,
    )


def next_context(
    context: Context, kept: Fallback, segments: tuple[Segment, ...], options: TranscribeOptions
) -> Context:
    """What the window after this one is told: silence changes nothing, and a guess tells nothing."""
    if is_silent(kept.result, options):
        return context
    return context.after(
        [token for segment in segments for token in segment.tokens],
        is_kept=options.condition_on_previous_text and kept.result.temperature <= TRUSTED_TEMPERATURE,
    )
