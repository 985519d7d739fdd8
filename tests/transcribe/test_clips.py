"""Stretches of a recording from seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki import OptionError, TranscribeOptions
from sasayaki.option_values import parse_clip_timestamps
from sasayaki.transcribe.clips import Clip, make_clips


@pytest.mark.parametrize(
    ("seconds", "clips"),
    [
        ((), [(0, 1000)]),
        ((0,), [(0, 1000)]),
        ((2.5,), [(250, 1000)]),
        ((0, 1, 3, 4), [(0, 100), (300, 400)]),
        ((0, 1, 3), [(0, 100), (300, 1000)]),
        ((0, 99), [(0, 1000)]),  # openai/whisper 2005: the end looped for ever
        ((9, 10.01, 20, 30), [(900, 1000)]),
        ((20,), []),
        ((10,), []),
        ((10, 10), []),
        ((3, 3, 4, 5), [(400, 500)]),
        ((0.004, 0.006), [(0, 1)]),
    ],
)
def test_clips_are_cut_to_the_recording(seconds: tuple[float, ...], clips: list[tuple[int, int]]) -> None:
    assert make_clips(seconds, 1000) == [Clip(*clip) for clip in clips]


def test_clips_keep_the_order_they_are_given_in_and_may_overlap() -> None:
    assert make_clips((5, 8, 0, 6), 1000) == [Clip(500, 800), Clip(0, 600)]


def test_an_empty_recording_has_no_clips() -> None:
    assert make_clips((0,), 0) == make_clips((), 0) == make_clips((0, 5), 0) == []


@given(st.lists(st.floats(0, 1e9), max_size=9), st.integers(0, 10**7))
def test_clips_lie_within_the_recording(seconds: list[float], content_frames: int) -> None:
    for clip in make_clips(seconds, content_frames):
        assert 0 <= clip.start < clip.end <= content_frames


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("0", (0,)), ("0,1, 3 ,4", (0, 1, 3, 4)), ("", ()), ("1.5,2,", (1.5, 2)), ([0, 1.5], (0, 1.5)), ((), ())],
)
def test_seconds_are_read_from_text_and_lists(given: object, seconds: tuple[float, ...]) -> None:
    assert parse_clip_timestamps(given) == seconds


@pytest.mark.parametrize(
    "given", ["a", "1;2", [None], ["x"], "nan", "1,inf", [float("nan")], "-1", [-0.5, 2], "5,3", [4, 1], 7, None]
)
def test_what_is_no_list_of_clips_is_refused(given: object) -> None:
    with pytest.raises(OptionError, match="clip_timestamps"):
        TranscribeOptions(clip_timestamps=given)


def test_clips_from_an_iterator_are_read_once_and_kept() -> None:
    options = TranscribeOptions(clip_timestamps=iter([1, 2]))
    assert parse_clip_timestamps(options.clip_timestamps) == (1, 2)
    assert parse_clip_timestamps(options.clip_timestamps) == (1, 2)
