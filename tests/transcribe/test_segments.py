"""Segments without the silence around their speech."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.transcribe.segments import within_speech
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice
from tests.cli.fake_model import segment


def voice_of(*regions: tuple[float, float]) -> Voice:
    return Voice(0.0, 30.0, np.zeros(0, np.float32), tuple(Region(*region) for region in regions))


@pytest.mark.parametrize(
    ("regions", "times"),
    [
        ([(2.0, 5.0)], (2.0, 5.0)),
        ([(0.5, 9.0)], (1.0, 8.0)),
        ([(2.0, 3.0), (4.0, 5.0)], (2.0, 5.0)),
        ([(0.0, 1.2), (2.0, 5.0)], (2.0, 5.0)),  # the end of the sentence before
        ([(2.0, 5.0), (7.8, 9.0)], (2.0, 5.0)),  # the beginning of the next one
        ([(7.8, 9.0)], (1.0, 8.0)),
        ([(4.0, 4.1)], (4.0, 4.1)),
        ([], (1.0, 8.0)),
    ],
)
def test_a_segment_holds_no_silence_before_and_behind_its_speech(
    regions: Sequence[tuple[float, float]], times: tuple[float, float]
) -> None:
    """The last timestamp of a window reached over the pause behind it, by 1.2 s at the end of an hour."""
    (held,) = within_speech([segment(1.0, 8.0, " a")], voice_of(*regions))
    assert (held.start, held.end) == times


def test_where_nobody_listened_times_stay() -> None:
    assert within_speech([segment(1.0, 8.0, " a")], None) == (segment(1.0, 8.0, " a"),)


SPANS = st.lists(st.floats(0.02, 5), min_size=2, max_size=20)


@given(SPANS, SPANS)
def test_segments_stay_in_order_and_within_their_times(steps: list[float], pauses: list[float]) -> None:
    ends = np.cumsum(steps).round(2).tolist()
    segments = [segment(start, end, " a") for start, end in pairwise(ends)]
    edges = np.cumsum(pauses).tolist()
    voice = voice_of(*zip(edges[::2], edges[1::2], strict=False))
    for before, after in zip(segments, within_speech(segments, voice), strict=True):
        assert before.start <= after.start < after.end <= before.end
