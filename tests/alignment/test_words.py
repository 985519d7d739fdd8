"""Word times from scripted attention and sound: order, bounds, pauses, punctuation, windows too short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.alignment.word_groups import WordGroup
from sasayaki.alignment.words import WordTime, time_words, time_words_by_attention

LAGS = (0.04,)


def word(text: str, n_token: int = 1, n_before: int = 0, n_after: int = 0) -> WordGroup:
    return WordGroup(text, (1,) * n_token, n_before, n_after)


def looking_at(*seconds: float, n_frames: int = 1000) -> np.ndarray:
    """Attention (1, n_token + 1, 1500) of tokens that each look at one moment, and of the end."""
    weights = np.full((1, len(seconds) + 1, 1500), 1e-7, np.float32)
    for token, second in enumerate([*seconds, n_frames / 100 - 0.1]):
        at = round(second * 50)
        weights[0, token, at : at + 2] = 0.5
    return weights


def sounding(*stretches: tuple[float, float], n_frames: int = 1000) -> np.ndarray:
    """Levels of a window with sound in some stretches, in seconds."""
    levels = np.zeros(n_frames)
    for start, end in stretches:
        levels[round(start * 100) : round(end * 100)] = 10.0
    return levels


def pairs(times: list[WordTime]) -> list[tuple[float, float]]:
    return [(time.start, time.end) for time in times]


def test_words_start_and_end_with_their_sound() -> None:
    times = time_words([word(" a"), word(" b")], looking_at(1.06, 3.0), LAGS, sounding((1.03, 1.41), (2.98, 3.55)))
    assert pairs(times) == [(1.03, 1.41), (2.98, 3.55)]
    assert [time.sounding for time in times] == [1.0, 1.0]


def test_a_loud_sound_without_voice_holds_no_word() -> None:
    """B86: the room behind the sentence before, cut off by silence, held the first word of the next one."""
    weights = looking_at(3.04, 3.4)
    weights[0, 0, :18] = 0.02
    weights[0, 1, 150:170] = 0.01
    levels = sounding((0.0, 0.36), (3.0, 4.0))
    voiced = np.zeros(1000, np.bool_)
    voiced[290:410] = True
    groups = [word(" a"), word(" b")]
    assert time_words(groups, weights, LAGS, levels)[0].start == 0.0
    assert time_words(groups, weights, LAGS, levels, voiced)[0].start == 3.0


def test_a_word_is_found_where_voice_activity_misses_it() -> None:
    levels = sounding((1.0, 1.4), (3.0, 3.5))
    times = time_words([word(" a"), word(" b")], looking_at(1.04, 3.04), LAGS, levels, np.zeros(1000, np.bool_))
    assert [time.start for time in times] == [1.0, 3.0]
    assert [time.end for time in times] == pytest.approx([1.4, 3.5], abs=0.15)


def test_words_without_a_pause_between_share_a_border() -> None:
    times = time_words([word(" a"), word(" b")], looking_at(1.04, 1.5), LAGS, sounding((1.0, 2.0)))
    assert times[0].end == times[1].start == pytest.approx(1.48, abs=0.04)


def test_the_first_word_after_a_long_pause_starts_with_its_sound() -> None:
    """B86: it started up to 10 s early, because attention before it is spread over the pause."""
    weights = looking_at(9.5, 9.8)
    weights[0, 0, :475] += 0.002
    times = time_words([word(" a"), word(" b")], weights, LAGS, sounding((9.46, 10.0)))
    assert times[0].start == 9.46
    assert times[0].end - times[0].start <= 0.7


def test_punctuation_takes_none_of_the_pause() -> None:
    """B85: a full stop of three seconds; the word keeps the time that it sounds."""
    groups = [word(" a.", 2, n_after=1), word(" b")]
    times = time_words(groups, looking_at(1.04, 1.4, 4.34), LAGS, sounding((1.0, 1.3), (4.3, 4.5)))
    assert pairs(times) == [(1.0, 1.3), (4.3, 4.5)]


def test_padding_behind_the_audio_is_no_part_of_a_word() -> None:
    times = time_words([word(" a")], looking_at(1.04, n_frames=125), LAGS, sounding((1.0, 1.25), n_frames=125))
    assert pairs(times) == [(1.0, 1.25)]


@pytest.mark.parametrize("n_frames", [0, 1, 2, 3, 7, 9])
def test_windows_too_short_for_their_words_share_out_what_there_is(n_frames: int) -> None:
    """B78: a window of one frame divided by zero."""
    groups = [word(" a", 2), word(" b"), word(" c", 2)]
    for times in (
        time_words(groups, looking_at(0, 0, 0, 0, 0), LAGS, np.zeros(n_frames)),
        time_words_by_attention(groups, np.full((1, 7, 1500), 1 / 1500), n_frames),
    ):
        edges = [edge for pair in pairs(times) for edge in pair]
        assert edges == sorted(edges)
        assert edges[0] >= 0
        assert edges[-1] <= n_frames / 100


def test_no_words_have_no_times() -> None:
    """B77."""
    assert time_words([], np.zeros((1, 0, 1500)), LAGS, np.zeros(10)) == []
    assert time_words_by_attention([], np.zeros((1, 2, 1500)), 10) == []


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_times_never_go_back_and_stay_inside(data: st.DataObject) -> None:
    """Every word has some length, starts when the one before has ended or later, and ends within the window."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=8))
    n_frames = data.draw(st.integers(2 * sum(sizes), 400))
    seed = data.draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    weights = random.dirichlet(np.full(1500, 0.05), size=(2, sum(sizes) + 1))
    levels = random.choice([0.0, 0.7, 3.0, 15.0], size=n_frames)
    groups = [word(" w", size, n_after=int(size > 1 and random.random() < 0.5)) for size in sizes]
    times = time_words(groups, weights, (0.1, 0.2), levels)
    edges = [edge for pair in pairs(times) for edge in pair]
    assert len(times) == len(groups)
    assert edges == sorted(edges)
    assert edges[0] >= 0
    assert edges[-1] <= n_frames / 100
    assert all(time.end > time.start for time in times)
    assert all(0 <= time.sounding <= 1 for time in times)
