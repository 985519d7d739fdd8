"""Regions of speech from probabilities, and windows cut at silences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.options import TranscribeOptions
from sasayaki.vad.detector import FRAME_SECONDS
from sasayaki.vad.find import cut_at_silences, find_speech
from sasayaki.vad.regions import Region

PLAIN = TranscribeOptions(vad_min_speech=0, vad_min_silence=0, vad_padding=0)


def found(probabilities: list[float], options: TranscribeOptions = PLAIN) -> list[tuple[int, int]]:
    """Regions in frames."""
    array = np.array(probabilities, np.float32)
    regions = find_speech(array, options, duration=len(array) * FRAME_SECONDS)
    return [(round(region.start / FRAME_SECONDS), round(region.end / FRAME_SECONDS)) for region in regions]


@pytest.mark.parametrize(
    ("probabilities", "frames"),
    [
        ([], []),
        ([0.1, 0.2], []),
        ([0.9], [(0, 1)]),
        ([0, 0.5, 0.5, 0], [(1, 3)]),
        ([0, 0.4, 0.6, 0.4, 0.3, 0.4], [(2, 4)]),  # speech goes on at 0.4, but does not begin there
        ([0.6, 0, 0.6], [(0, 1), (2, 3)]),
        ([0.6, 0.4, 0.6], [(0, 3)]),
    ],
)
def test_speech_begins_at_the_threshold_and_ends_below_it(
    probabilities: list[float], frames: list[tuple[int, int]]
) -> None:
    assert found(probabilities) == frames


def test_the_threshold_is_an_option() -> None:
    assert found([0.6, 0, 0.8], TranscribeOptions(vad_threshold=0.7, vad_min_speech=0, vad_padding=0)) == [(2, 3)]


def test_short_pauses_do_not_part_speech_and_short_sounds_are_no_speech() -> None:
    options = TranscribeOptions(vad_min_speech=0.1, vad_min_silence=0.2, vad_padding=0)
    assert found([0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], options) == [(1, 12)]


def test_padding_stops_half_way_to_the_next_region_and_at_the_ends() -> None:
    options = TranscribeOptions(vad_min_speech=0, vad_min_silence=0, vad_padding=3 * FRAME_SECONDS)
    assert found([0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], options) == [(0, 3), (3, 8)]


@given(st.lists(st.floats(0, 1, width=32), max_size=200), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_regions_are_ordered_and_inside_the_recording(
    probabilities: list[float], min_speech: float, min_silence: float, padding: float
) -> None:
    options = TranscribeOptions(vad_min_speech=min_speech, vad_min_silence=min_silence, vad_padding=padding)
    duration = max(0.0, len(probabilities) * FRAME_SECONDS - 0.01)
    regions = find_speech(np.array(probabilities, np.float32), options, duration=duration)
    times = [time for region in regions for time in (region.start, region.end)]
    assert times == sorted(times)
    assert all(0 <= region.start < region.end <= duration for region in regions)


def test_windows_begin_where_their_speech_begins() -> None:
    """B63: offsets counted as multiples of 30 s drifted with every cut that was made earlier."""
    regions = [Region(0, 29.5), Region(29.9, 58.7), Region(59.1, 80), Region(80.1, 95)]
    assert cut_at_silences(regions) == (Region(0, 29.5), Region(29.9, 58.7), Region(59.1, 80), Region(80.1, 95))


def test_the_longest_silence_is_cut_among_equally_few_windows() -> None:
    regions = [Region(0, 10), Region(13, 20), Region(20.1, 25), Region(25.3, 35)]
    assert cut_at_silences(regions) == (Region(0, 10), Region(13, 35))


def test_short_regions_share_a_window() -> None:
    assert cut_at_silences([Region(1, 2), Region(5, 6), Region(28, 31)]) == (Region(1, 31),)
    assert cut_at_silences([]) == ()


def test_a_long_region_is_divided_where_speech_is_least_likely() -> None:
    probabilities = np.ones(1500, np.float32)
    probabilities[700:705] = 0.2
    first, second = cut_at_silences([Region(0, 48)], probabilities=probabilities)
    assert first.end == second.start == pytest.approx(702.5 * FRAME_SECONDS)


def test_sounds_that_are_no_speech_are_kept_if_asked_for_and_cut_in_their_middle() -> None:
    probabilities = np.zeros(1250, np.float32)
    probabilities[:900] = 0.2
    regions = [Region(2, 14), Region(18, 20), Region(36, 38)]
    kept = cut_at_silences(regions, 17.0, probabilities=probabilities, keeps_sound=True)
    assert kept == (Region(0, 16), Region(16, 28), Region(28, 38))
    assert cut_at_silences(regions, 17.0, probabilities=probabilities) == (
        Region(2, 14),
        Region(18, 20),
        Region(36, 38),
    )


@st.composite
def speech(draw: st.DrawFn) -> list[Region]:
    steps = draw(st.lists(st.floats(0.05, 70), max_size=30))
    times = np.cumsum(steps).tolist()
    return [Region(start, end) for start, end in zip(times[::2], times[1::2], strict=False)]


@given(speech(), st.integers(0, 9))
def test_windows_of_all_that_sounds_leave_out_silence_alone(regions: list[Region], seed: int) -> None:
    end = regions[-1].end if regions else 5.0
    n_frames = int(end / FRAME_SECONDS) + 1
    random = np.random.default_rng(seed)
    blocks = np.repeat(random.random(n_frames // 50 + 1) * random.integers(0, 2, n_frames // 50 + 1), 50)[:n_frames]
    windows = cut_at_silences(regions, probabilities=blocks.astype(np.float32), keeps_sound=True)
    assert all(window.end - window.start <= 30 + 1e-6 for window in windows)
    assert all(a.end <= b.start + 1e-9 for a, b in pairwise(windows))
    for frame in np.flatnonzero(blocks):
        time = (frame + 0.5) * FRAME_SECONDS
        assert any(window.start <= time <= window.end for window in windows)


@given(speech(), st.booleans())
def test_windows_hold_all_speech_and_nothing_outside_it(regions: list[Region], has_probabilities: bool) -> None:
    """B63: the starts of windows are true places, whatever was cut before."""
    end = regions[-1].end if regions else 0.0
    draw = np.random.default_rng(0).random(int(end / FRAME_SECONDS) + 1).astype(np.float32)
    windows = cut_at_silences(regions, probabilities=draw if has_probabilities else None)
    assert all(window.end - window.start <= 30 + 1e-6 for window in windows)
    assert all(a.end <= b.start for a, b in pairwise(windows))
    for region in regions:
        inside = [w for w in windows if w.start < region.end and w.end > region.start]
        assert inside[0].start <= region.start
        assert inside[-1].end >= region.end
        gaps = [(a.end, b.start) for a, b in pairwise(inside)]
        assert all(start == end for start, end in gaps)
    starts = {region.start for region in regions}
    cuts = {window.end for window in windows}
    assert all(window.start in starts | cuts for window in windows)
