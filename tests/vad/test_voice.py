"""Voice activity in a window, in times of the recording."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki import TranscribeOptions
from sasayaki.audio.samples import WaveformSamples
from sasayaki.vad import detector
from sasayaki.vad.detector import FRAME_SECONDS, Listener
from sasayaki.vad.voice import Voice, listen

PLAIN = TranscribeOptions(vad_min_speech=0, vad_min_silence=0, vad_padding=0)


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """20 s with speech from 5 to 8 s and from 12 to 12.5 s."""
    times = np.arange(625) * FRAME_SECONDS
    heard = (((times >= 5) & (times < 8)) | ((times >= 12) & (times < 12.5))).astype(np.float32)
    monkeypatch.setattr(detector, "SileroNetwork", lambda: lambda frames: heard[: len(frames)])
    return Listener(WaveformSamples(np.zeros(320_000, np.float32)), "silero")


@pytest.mark.parametrize(("start", "end"), [(0, 2000), (123, 1333), (600, 1240), (0, 3000)])
def test_regions_are_at_their_place_in_the_recording(listener: Listener, start: int, end: int) -> None:
    voice = listen(listener, start, end, PLAIN)
    first, last = max(5, start / 100), min(12.5, end / 100)
    assert voice.regions[0].start == pytest.approx(first, abs=FRAME_SECONDS)
    assert voice.regions[-1].end == pytest.approx(last, abs=FRAME_SECONDS)
    assert voice.seconds(0, 100) == pytest.approx(8 - first + last - 12, abs=3 * FRAME_SECONDS)
    assert voice.seconds(6, 7) == pytest.approx(1)
    assert voice.seconds(9, 11) == 0


def test_the_first_sound(listener: Listener) -> None:
    assert listen(listener, 0, 2000, PLAIN).first_sound() == pytest.approx(5, abs=FRAME_SECONDS)
    assert listen(listener, 900, 2000, PLAIN).first_sound() == pytest.approx(12, abs=FRAME_SECONDS)
    assert listen(listener, 600, 2000, PLAIN).first_sound() <= 6
    assert listen(listener, 1300, 1900, PLAIN).first_sound() == 19


def test_frames_with_voices(listener: Listener) -> None:
    voiced = listen(listener, 600, 1300, PLAIN).voiced_frames(600, 1300)
    assert voiced.shape == (700,)
    assert voiced[:195].all()
    assert not voiced[205:595].any()
    assert voiced[605:645].all()


def test_stretches_are_cut_at_the_ends_of_what_is_asked_for(listener: Listener) -> None:
    voice = listen(listener, 0, 2000, PLAIN)
    (first, second) = voice.within(6.0, 12.25)
    assert (first.start, first.end) == (6.0, pytest.approx(8, abs=FRAME_SECONDS))
    assert (second.start, second.end) == (pytest.approx(12, abs=FRAME_SECONDS), 12.25)
    assert voice.within(9.0, 11.0) == ()


def test_nothing_was_heard_in_no_time() -> None:
    voice = Voice(0.0, 0.0, np.zeros(0, np.float32), ())
    assert (voice.seconds(0, 1), voice.first_sound()) == (0, 0)
