"""Windows that hold two languages end where the second one begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki import TranscribeOptions
from sasayaki.decoding.language import DetectedLanguage
from sasayaki.transcribe.language import WindowLanguage
from sasayaki.transcribe.requests import Asking, Detect, Window
from sasayaki.transcribe.switching import MIN_SPEECH, parts_at_pauses, spoken_window
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice, seconds_within

SENTENCES = ((0.5, 4.0), (5.0, 9.0), (10.0, 13.0), (14.0, 18.0), (19.0, 23.0), (24.0, 29.0))
ENGLISH = WindowLanguage("en", 0.9)


def voice_of(sentences: Sequence[tuple[float, float]], end: float = 30.0) -> Voice:
    return Voice(0.0, end, np.zeros(0, np.float32), tuple(Region(*sentence) for sentence in sentences))


def spoken(
    languages: Sequence[tuple[float, str]], *, probability: float = 0.9, listens: bool = True, **options: Any
) -> tuple[Window, str, int]:
    """The window that is decoded when from each moment on another language is spoken; its language; the detections."""
    settled = TranscribeOptions(**({"multilingual": True} | options))
    voice = voice_of(SENTENCES) if listens else None
    part: Asking[tuple[Window, WindowLanguage]] = spoken_window(Window(0, 3000), voice, settled, ENGLISH)
    answer: Any = None
    n_asked = 0
    try:
        while True:
            request = part.send(answer)
            assert isinstance(request, Detect)
            answer = heard(request.window, languages, probability)
            n_asked += 1
    except StopIteration as end:
        window, language = end.value
        return window, language.code, n_asked


def heard(window: Window, languages: Sequence[tuple[float, str]], probability: float) -> DetectedLanguage:
    """The language with the most time in a window."""
    ends = [*(start for start, _ in languages[1:]), 1e9]
    shares = {"de": 0.0, "en": 0.0, "fr": 0.0}
    for (start, code), end in zip(languages, ends, strict=True):
        shares[code] += max(0.0, min(end, window.end / 100) - max(start, window.start / 100))
    code = max(shares, key=lambda each: shares[each])
    probs = {each: probability if each == code else (1 - probability) / 2 for each in shares}
    return DetectedLanguage(code, 0, probs)


@pytest.mark.parametrize("place", range(1, len(SENTENCES)))
def test_a_window_ends_at_the_pause_before_another_language(place: int) -> None:
    """B100: code switching within a window gave the second language in words of the first."""
    pause = (SENTENCES[place - 1][1] + SENTENCES[place][0]) / 2
    window, language, n_asked = spoken([(0, "de"), (pause, "fr")])
    assert (window, language) == (Window(0, round(pause * 100)), "de")
    assert n_asked <= 5


def test_one_language_is_heard_in_the_whole_window() -> None:
    assert spoken([(0, "de")]) == (Window(0, 3000), "de", 3)


def test_an_unlikely_change_is_none() -> None:
    """B100: windows of low confidence flipped the language."""
    assert spoken([(0, "de"), (15, "fr")], probability=0.4)[:2] == (Window(0, 3000), "en")


@pytest.mark.parametrize("options", [{"multilingual": False}, {"listens": False}])
def test_without_the_option_or_voice_activity_nothing_is_cut(options: dict[str, bool]) -> None:
    window, _, n_asked = spoken([(0, "de"), (13.5, "fr")], **options)
    assert window == Window(0, 3000)
    assert n_asked <= 1


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0.1, 12)), max_size=12), st.integers(0, 10_000))
def test_parts_hold_the_window_and_enough_speech(pairs: list[tuple[float, float]], start: int) -> None:
    sentences, time = [], start / 100
    for pause, length in pairs:
        sentences.append((time + pause, time + pause + length))
        time += pause + length
    window = Window(start, start + 3000)
    voice = voice_of(sentences, window.end / 100)
    parts = parts_at_pauses(window, voice)
    assert (parts[0].start, parts[-1].end) == (window.start, window.end)
    assert all(a.end == b.start and a.start < a.end for a, b in pairwise(parts))
    if len(parts) > 1:
        speech = [seconds_within(voice.regions, part.start / 100, part.end / 100) for part in parts[:-1]]
        assert min(speech) >= MIN_SPEECH - 0.01
