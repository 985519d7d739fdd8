"""Windows that hold two languages are cut at the pause where the second one begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.decoding.language import DetectedLanguage
from sasayaki.option_values import parse_languages
from sasayaki.options import TranscribeOptions
from sasayaki.transcribe.language import WindowLanguage, window_language
from sasayaki.transcribe.requests import Asking, Detect, Window
from sasayaki.vad.voice import Voice

MIN_SPEECH = 3.0
"""Seconds of speech that are listened to at least: with less a language is a guess."""


def spoken_window(
    window: Window, voice: Voice | None, options: TranscribeOptions, previous: WindowLanguage
) -> Asking[tuple[Window, WindowLanguage]]:
    """The window, or as much of it as is in one language, and that language.

    With `multilingual` the first and the last `MIN_SPEECH` seconds of speech are listened to. When both have a likely
    language and not the same one, the pause where the second begins is looked for by halves, and the window ends there.
    Two changes within a window cancel each other out.
    """
    if options.multilingual and voice is not None:
        parts = parts_at_pauses(window, voice)
        if len(parts) > 1:
            first: DetectedLanguage = yield Detect(parts[0], parse_languages(options.languages))
            last: DetectedLanguage = yield Detect(parts[-1], parse_languages(options.languages))
            least = options.language_detection_threshold
            is_likely = min(first.probs[first.code], last.probs[last.code]) >= least
            if is_likely and first.code != last.code:
                begin = yield from _find_switch(parts, first.code, last.code, options)
                return replace(window, end=begin), WindowLanguage(first.code, first.probs[first.code])
    language = yield from window_language(window, options, previous)
    return window, language


def parts_at_pauses(window: Window, voice: Voice) -> list[Window]:
    """The window cut in the middle of pauses, so that each part has `MIN_SPEECH` seconds of speech or more."""
    regions = [region for region in voice.regions if region.start * FRAMES_PER_SECOND < window.end]
    cuts, speech = [window.start], 0.0
    left = sum(region.end - region.start for region in regions)
    for region, after in pairwise(regions):
        speech += region.end - region.start
        left -= region.end - region.start
        if min(speech, left) >= MIN_SPEECH and after.start > region.end:
            cuts.append(round((region.end + after.start) / 2 * FRAMES_PER_SECOND))
            speech = 0.0
    return [Window(start, end) for start, end in pairwise([*cuts, window.end])]


def _find_switch(parts: Sequence[Window], first: str, last: str, options: TranscribeOptions) -> Asking[int]:
    """First frame of the first part in the language `last`; the first part is not, and the last one is."""
    before, behind = 0, len(parts) - 1
    while behind - before > 1:
        middle = (before + behind) // 2
        heard: DetectedLanguage = yield Detect(parts[middle], parse_languages(options.languages))
        if heard.probs[last] > heard.probs[first]:
            behind = middle
        else:
            before = middle
    return parts[behind].start
