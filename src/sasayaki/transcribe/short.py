"""Windows with little audio: encoded without most of the silence behind it, as long as the result looks right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES, TOKENS_PER_SECOND
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.fallback import Fallback, decode_with_fallback, failed_checks, make_attempt
from sasayaki.transcribe.requests import Asking, Decode, Window
from sasayaki.vad.regions import Region

MARGIN_FRAMES = 5 * FRAMES_PER_SECOND
"""Silence that is left behind the audio. With less of it the model repeats itself (docs/log.md)."""

MIN_CONTEXT = 10 * FRAMES_PER_SECOND
CONTEXT_STEP = 5 * FRAMES_PER_SECOND
"""Contexts are whole steps, so that windows of nearly the same length can be decoded together."""

LATE_FRAMES = 100
"""How far behind the end of the audio a timestamp may lie."""


def shortened(window: Window, options: TranscribeOptions) -> Window:
    """The window with no more silence behind it than it needs; itself where that saves little."""
    if not options.short_context or options.compat:
        return window
    steps = math.ceil((window.n_frames + MARGIN_FRAMES) / CONTEXT_STEP)
    context = max(steps * CONTEXT_STEP, MIN_CONTEXT)
    return replace(window, context=context) if context < N_FRAMES else window


def decode_shortened(
    window: Window,
    ladder: Callable[[Window], Iterator[Decode]],
    options: TranscribeOptions,
    timestamp_begin: int,
    spoken: Sequence[Region] = (),
) -> Asking[tuple[Window, Fallback]]:
    """Decode a window with a short context if it has little audio, and with the full one if that looks wrong.

    Args:
        window: what to listen to.
        ladder: the decodes of a window, one at each temperature.
        options: how.
        timestamp_begin: id of the first timestamp token.
        spoken: where there is speech in the window.

    Returns:
        The window as it was encoded for the result, and the result.
    """
    short = shortened(window, options)
    if short == window:
        kept = yield from decode_with_fallback(ladder(window), options, spoken)
        return window, kept
    result: DecodingResult = yield next(ladder(short))
    attempt = make_attempt(result, faults(result, short, options, timestamp_begin, spoken))
    if not attempt.failed:
        return short, Fallback(result, (attempt,))
    kept = yield from decode_with_fallback(ladder(window), options, spoken)
    return window, Fallback(kept.result, (attempt, *kept.attempts))


def faults(
    result: DecodingResult,
    window: Window,
    options: TranscribeOptions,
    timestamp_begin: int,
    spoken: Sequence[Region] = (),
) -> tuple[str, ...]:
    """Names of what looks wrong with the result of a short window; none for one that can be kept."""
    last = max(result.tokens, default=0) - timestamp_begin
    is_late = last * FRAMES_PER_SECOND > (window.n_frames + LATE_FRAMES) * TOKENS_PER_SECOND
    is_cut_off = any(hypothesis.stop != "eot" for hypothesis in result.hypotheses[:1])
    return failed_checks(result, options, spoken) or (("short_context",) if is_late or is_cut_off else ())
