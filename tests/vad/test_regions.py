"""Times of joined speech regions map back to the recording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.vad.regions import CutTimes, Region

TWO_REGIONS = CutTimes([Region(1, 3), Region(9, 10)])


@pytest.mark.parametrize(
    ("cut", "restored"),
    [
        ((0.0, 2.0), (1, 3)),  # ends exactly at the border: stays in the first region
        ((1.5, 2.5), (2.5, 9.5)),  # spans the border
        ((2.0, 3.0), (9, 10)),  # starts exactly at the border: belongs to the second region
        ((0.0, 0.0), (1, 1)),
        ((-1.0, 9.0), (1, 10)),  # outside the cut audio
    ],
)
def test_a_border_ends_the_earlier_region_and_starts_the_later_one(
    cut: tuple[float, float], restored: tuple[float, float]
) -> None:
    """B54: the end of a segment at a border was mapped to the start of the next speech."""
    region = TWO_REGIONS.restore(*cut)
    assert (region.start, region.end) == pytest.approx(restored)


@st.composite
def regions(draw: st.DrawFn) -> list[Region]:
    steps = draw(st.lists(st.floats(0.01, 10), min_size=2, max_size=12).filter(lambda s: len(s) % 2 == 0))
    times, at = [], 0.0
    for step in steps:
        at += step
        times.append(at)
    return [Region(start, end) for start, end in zip(times[::2], times[1::2], strict=True)]


@given(regions(), st.lists(st.floats(0, 80), min_size=2, max_size=30))
def test_times_never_go_back_and_stay_in_speech(kept: list[Region], times: list[float]) -> None:
    """B54: the map is monotone."""
    mapping = CutTimes(kept)
    ordered = sorted(times)
    starts = [mapping.restore(time, time).start for time in ordered]
    ends = [mapping.restore(time, time).end for time in ordered]
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    assert all(any(region.start <= time <= region.end for region in kept) for time in starts + ends)


@given(regions(), st.sampled_from([1e-12, -1e-12, 1e-6, -1e-6, 0.0]))
def test_a_border_is_one_however_its_time_was_summed_up(kept: list[Region], error: float) -> None:
    """B54: an end that rounding had put 1e-16 s behind the border was mapped to the start of the next speech."""
    mapping, at = CutTimes(kept), 0.0
    for region in kept:
        end = at + region.end - region.start
        restored = mapping.restore(at + error, end + error)
        assert (restored.start, restored.end) == pytest.approx((region.start, region.end), abs=1 / 32000)
        at = end


@given(regions(), st.floats(0, 80), st.floats(0, 1e-3))
def test_what_is_short_does_not_end_before_it_starts(kept: list[Region], start: float, length: float) -> None:
    mapping = CutTimes(kept)
    for at in (start, sum(region.end - region.start for region in kept[:1])):
        restored = mapping.restore(at, at + length)
        assert restored.start <= restored.end


def test_no_speech_maps_to_nothing() -> None:
    assert CutTimes([]).restore(1, 2) == Region(0, 0)
