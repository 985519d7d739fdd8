"""Times in caption files."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OutputError
from sasayaki.writers import format_timestamp
from sasayaki.writers.times import to_milliseconds
from tests.writers.transcriptions import to_ms


@pytest.mark.parametrize(
    ("seconds", "srt", "vtt"),
    [
        (0.0, "00:00:00,000", "00:00.000"),
        (59.9996, "00:01:00,000", "01:00.000"),
        (3599.9994, "00:59:59,999", "59:59.999"),
        (3599.9996, "01:00:00,000", "01:00:00.000"),
        (3600, "01:00:00,000", "01:00:00.000"),
        (360000.001, "100:00:00,001", "100:00:00.001"),
    ],
)
def test_hours_have_two_digits_or_more(seconds: float, srt: str, vtt: str) -> None:
    """B121: SRT always has hours, VTT from the first hour on; rounding carries into the hours."""
    assert format_timestamp(seconds, always_hours=True, decimal_mark=",") == srt
    assert format_timestamp(seconds) == vtt


@pytest.mark.parametrize("always_hours", [True, False])
def test_every_millisecond_survives_the_round_trip(always_hours: bool) -> None:
    """B123: milliseconds are rounded, not cut: 2.3 s is 2,300."""
    assert format_timestamp(2.3) == "00:02.300"
    assert format_timestamp(4.1) == "00:04.100"
    for base in (0, 3_595_000, 400_000_000):
        for milliseconds in range(base, base + 10_000):
            assert to_ms(format_timestamp(milliseconds / 1000, always_hours=always_hours)) == milliseconds


@given(st.floats(0, 1e7))
def test_a_time_is_at_most_half_a_millisecond_off(seconds: float) -> None:
    assert abs(to_ms(format_timestamp(seconds)) - seconds * 1000) <= 0.5001


def test_a_time_before_the_start_is_the_start() -> None:
    assert format_timestamp(-0.01) == "00:00.000"


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 1e308])
def test_a_time_that_is_not_finite_is_an_error(seconds: float) -> None:
    with pytest.raises(OutputError, match="finite"):
        to_milliseconds(seconds)
