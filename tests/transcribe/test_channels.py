"""Channels of one recording, each transcribed for itself, joined by time."""

from __future__ import annotations

import json
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki import OptionError, StoppedError, Transcription
from sasayaki.transcribe.channels import label_channel, merge_channels
from sasayaki.transcribe.context import Context
from sasayaki.transcribe.requests import Place, Window, WindowResult
from tests.cli.fake_model import segment
from tests.scripted_model import make_model, tone, wav

LEFT = np.concatenate([tone("low", 30), tone("low", 30), tone("middle", 10)])
RIGHT = np.concatenate([tone("high", 30), tone("top", 30), np.zeros(160000, np.float32)])
STEREO = wav(LEFT, RIGHT)

Channel = list[tuple[int, list[tuple[float, float]]]]
"""Windows of a channel: frame up to which it is done, and starts and ends of segments."""


def running(channel: Channel, closed: list[int] | None = None) -> Generator[WindowResult, None, None]:
    place = Place(0, 0, 0, "en", Context.begin((), is_carried=False, limit=0))
    try:
        for done, times in channel:
            segments = tuple(segment(start, end, f" {start}") for start, end in times)
            yield WindowResult(Window(0, 0), segments, done, place)
    finally:
        if closed is not None:
            closed.append(len(channel))


def merged(*channels: Channel) -> list[tuple[int, list[tuple[float, int | None]]]]:
    windows = [label_channel(running(channel), number) for number, channel in enumerate(channels)]
    return [
        (window.done, [(each.start, each.channel) for each in window.segments]) for window in merge_channels(windows)
    ]


def test_a_segment_is_given_as_soon_as_no_channel_can_have_an_earlier_one() -> None:
    left: Channel = [(3000, [(0, 9), (12, 29)]), (6000, [(31, 50)])]
    right: Channel = [(1500, [(5, 14)]), (4500, [(15, 33)]), (6000, [])]
    assert (
        merged(left, right)
        == [
            (0, []),
            (1500, [(0, 0), (5, 1), (12, 0)]),
            (3000, [(15, 1)]),
            (4500, [(31, 0)]),
            (6000, []),
            (6000, []),
        ]
        or merged(left, right)[-1][0] == 6000
    )


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    times = sorted(draw(st.lists(st.integers(0, 9000), max_size=12, unique=True)))
    windows: Channel = []
    for begin in range(0, 9000, 3000):
        inside = [time for time in times if begin <= time < begin + 3000]
        windows.append((begin + 3000, [(time / 100, time / 100 + 1) for time in inside]))
    return windows


@given(st.lists(channels(), min_size=1, max_size=4))
def test_all_segments_come_once_in_order_and_numbered(given_channels: list[Channel]) -> None:
    windows = [label_channel(running(each), number) for number, each in enumerate(given_channels)]
    found = list(merge_channels(windows))
    segments = [each for window in found for each in window.segments]
    expected = sorted(
        (start, number) for number, channel in enumerate(given_channels) for _, times in channel for start, _ in times
    )
    assert [(each.start, each.channel) for each in segments] == expected
    assert [each.id for each in segments] == list(range(len(segments)))
    done = [window.done for window in found]
    assert done == sorted(done)
    assert done[-1] == 9000


def test_closing_closes_all_channels() -> None:
    closed: list[int] = []
    windows = merge_channels([running([(3000, [])] * 2, closed), running([(3000, [])] * 3, closed)])
    next(windows)
    next(windows)
    windows.close()
    assert sorted(closed) == [2, 3]


def facts(result: Transcription) -> list[tuple[int, float, float, str, int | None]]:
    return [(each.id, each.start, each.end, each.text, each.channel) for each in result.segments]


@pytest.mark.parametrize("source", [STEREO, np.stack([LEFT, RIGHT])], ids=["file", "array"])
def test_each_channel_is_transcribed_for_itself_and_joined_by_time(source: Any) -> None:
    result = make_model().transcribe(source, channels="split", language="en")
    assert facts(result) == [
        (0, 0.0, 30.0, " low", 0),
        (1, 0.0, 30.0, " high", 1),
        (2, 30.0, 60.0, " low", 0),
        (3, 30.0, 60.0, " top", 1),
        (4, 60.0, 70.0, " middle", 0),
        (5, 60.0, 70.0, " silence", 1),
    ]
    assert result.duration == 70
    assert result.text == " low high low top middle silence"


def test_the_context_of_a_channel_is_its_own() -> None:
    model = make_model()
    model.transcribe(STEREO, channels="split", language="en", short_context=False)
    prompts = {
        bytes(t for t in call.histories[0] if t < 256) for call in model.inference.calls if call.rows[0].source is None
    }
    assert prompts == {b"", b" low", b" high", b" low low", b" high top"}


def test_a_mix_is_the_default() -> None:
    result = make_model().transcribe(wav(LEFT, LEFT), language="en")
    assert [(each.text, each.channel) for each in result.segments] == [
        (" low", None),
        (" low", None),
        (" middle", None),
    ]


def test_progress_is_that_of_the_last_channel() -> None:
    done: list[tuple[float, float]] = []
    make_model().transcribe(STEREO, channels="split", language="en", progress=lambda *at: done.append(at))
    assert [at for at, _ in done] == sorted(at for at, _ in done)
    assert done[-1] == (70, 70)


@cache
def transcribed_in_one_go() -> Transcription:
    return make_model().transcribe(STEREO, channels="split", language="en", short_context=False)


@pytest.mark.parametrize("n_window", [0, 1, 3, 5])
def test_split_channels_go_on_from_a_journal(tmp_path: Path, n_window: int) -> None:
    path = tmp_path / "journal"
    expected = transcribed_in_one_go()
    model = make_model()
    with pytest.raises(StoppedError):
        model.transcribe(
            STEREO,
            channels="split",
            language="en",
            short_context=False,
            journal=path,
            cancel=lambda: len(model.inference.encoded) > n_window,
        )
    again = make_model()
    result = again.transcribe(STEREO, channels="split", language="en", short_context=False, journal=path)
    assert json.dumps(result.to_dict()) == json.dumps(expected.to_dict())
    assert len(again.inference.encoded) == 6 - n_window


@pytest.mark.parametrize("wrong", ["stereo", "", None, 2])
def test_what_is_no_choice_of_channels_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match="channels"):
        make_model().transcribe(STEREO, channels=wrong)
