"""Windows with little audio: encoded with a few moments of the silence behind it, as long as the result looks right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES, TOKENS_PER_SECOND
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.fallback import Fallback, decode_with_fallback, failed_checks, make_attempt
from sasayaki.transcribe.requests import Asking, Decode, Window
from sasayaki.transcribe.silence import UNSURE_OF_SPEECH
from sasayaki.vad.regions import Region

CONTEXTS = (800, 1200, 1600, 2000)
"""Lengths in frames; a few, so that windows of nearly the same length can be decoded together."""

FRAMES_PER_POSITION = FRAMES_PER_SECOND // TOKENS_PER_SECOND
"""The encoder halves the frames of the spectrogram."""

MARGIN = 50
"""Positions of silence, 0.02 s each, that follow the audio at least, and as many that are spread behind them."""

RUN = 10
"""Positions that stay together: some heads of the encoder look at neighbours. Single ones do worse (docs/log.md)."""

LATE_FRAMES = 100
"""How far behind the end of the audio a timestamp may lie."""


def shortened(window: Window, options: TranscribeOptions) -> Window:
    """The window with no more silence behind it than it needs; itself where that saves little."""
    if not options.short_context or options.compat:
        return window
    needed = window.n_frames + 2 * MARGIN * FRAMES_PER_POSITION
    context = next((context for context in CONTEXTS if context >= needed), N_FRAMES)
    return replace(window, context=context)


def positions(window: Window) -> npt.NDArray[np.int64]:
    """Where in a full window the frames of this one are heard, two by two, (context / 2,).

    The audio is where it always is. Half of the room behind it takes the silence that follows, the other half runs of
    `RUN` positions spread over the rest of the 30 s, the last at the end.
    """
    n_kept, n_all = window.context // FRAMES_PER_POSITION, N_FRAMES // FRAMES_PER_POSITION
    n_audio = -(-window.n_frames // FRAMES_PER_POSITION)
    if n_kept == n_all:
        return np.arange(n_all)
    n_runs = (n_kept - n_audio) // 2 // RUN
    n_begin = n_kept - n_runs * RUN
    edges = np.linspace(n_begin, n_all, n_runs + 1).round().astype(np.int64)
    starts = (edges[:-1] + edges[1:] - RUN) // 2
    starts[-1] = n_all - RUN
    return np.concatenate([np.arange(n_begin), (starts[:, None] + np.arange(RUN)).ravel()])


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
    is_doubtful = result.no_speech_prob > UNSURE_OF_SPEECH
    is_wrong = is_late or is_cut_off or is_doubtful
    return failed_checks(result, options, spoken) or (("short_context",) if is_wrong else ())
