"""Speech at an edge of a segment that no word stands for: left out of the segment, and decoded again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki.results import Segment, Word
from sasayaki.transcribe.holes import Hole, find_holes, own_time
from sasayaki.transcribe.requests import Attend, Listen
from tests.fakes import text, ts
from tests.transcribe.test_coverage import segment, voice
from tests.transcribe.test_word_times import Speaker, Spoken, timed

ONE_EACH_HALF_SECOND = tuple((10 + place / 2, 10.3 + place / 2) for place in range(12))


@pytest.fixture
def everything_is_voice() -> None:
    """Voices are as they are."""


def worded(start: float, end: float, *times: tuple[float, float]) -> Segment:
    """A segment with a word at each of the times."""
    words = tuple(
        Word(word=f" w{place}", start=time[0], end=time[1], probability=0.9) for place, time in enumerate(times)
    )
    return replace(segment(start, end, "".join(word.word for word in words)), words=words)


def test_holes_are_before_between_and_behind_words_and_in_long_ones() -> None:
    said = worded(0.0, 20.0, (2.0, 2.5), (2.6, 5.6), (5.7, 6.0), (8.0, 8.4))
    holes = find_holes(said, voice((0, 20)))
    assert holes == [Hole(0.0, 2.0, 0, 0), Hole(2.6, 5.6, 1, 2), Hole(6.0, 8.0, 3, 3), Hole(8.4, 20.0, 4, 4)]
    assert find_holes(said, voice((2, 2.5), (3.5, 4.6), (7, 8), (8.4, 9.5))) == []  # pauses, and too little speech


@pytest.mark.parametrize(
    ("times", "regions", "expected"),
    [
        (ONE_EACH_HALF_SECOND, [(1, 9), (9.8, 16)], (9.8, 16)),  # behind the pause
        (ONE_EACH_HALF_SECOND, [(1, 16)], (10.0, 16)),  # no pause: where the words begin
        (((1, 1.4), (2, 2.4), *ONE_EACH_HALF_SECOND), [(1, 9), (9.8, 16)], (9.8, 16)),  # And it … was a matter
        (((1, 8.9), *ONE_EACH_HALF_SECOND), [(1, 9), (9.8, 16)], (9.8, 16)),  # a word that lasts 8 s
        (((1, 1.4), (4, 4.4), *ONE_EACH_HALF_SECOND), [(1, 9), (9.8, 16)], (9.8, 16)),  # two holes
        (ONE_EACH_HALF_SECOND, [(9.8, 16), (17, 20)], (1, 16)),  # behind the words
        (ONE_EACH_HALF_SECOND, [(9.8, 20)], (1, 15.8)),
        ((*ONE_EACH_HALF_SECOND, (19, 19.4)), [(9.8, 16), (17, 20)], (1, 16)),
    ],
)
def test_a_segment_leaves_out_the_hole_and_takes_the_few_words_beyond_it(
    times: Sequence[tuple[float, float]], regions: Sequence[tuple[float, float]], expected: tuple[float, float]
) -> None:
    said = worded(1.0, 20.0 if regions[-1][1] > 16 else 16.0, *times)
    own = own_time(said, voice(*regions))
    assert own
    assert (own.start, own.end) == expected


@pytest.mark.parametrize(
    "times",
    [
        [(place / 2, place / 2 + 0.4) for place in range(40)],  # no hole
        [*((place / 2, place / 2 + 0.4) for place in range(8)), *ONE_EACH_HALF_SECOND],  # many words on both sides
        [(4, 4.4), (8, 8.4)],  # as many on each
    ],
)
def test_a_segment_without_a_hole_at_an_edge_keeps_its_time(times: Sequence[tuple[float, float]]) -> None:
    assert own_time(worded(0.0, 16.0, *times), voice((0, 16))) is None


def test_words_beyond_the_timestamps_of_a_segment_leave_it_its_time() -> None:
    """It started behind its end."""
    assert (
        own_time(worded(0.0, 16.0, (1, 1.4), *((17 + n / 2, 17.4 + n / 2) for n in range(6))), voice((0, 30))) is None
    )
    assert own_time(worded(14.0, 20.0, *((n / 2, n / 2 + 0.4) for n in range(6)), (19, 19.4)), voice((0, 30))) is None


class Heard(Speaker):
    """A speaker whose voice is known."""

    def __init__(self, says: Any, sounds: Spoken, *regions: tuple[float, float]) -> None:
        super().__init__(says, sounds)
        self.voice = replace(voice(*regions), probabilities=np.ones(1000, np.float32))

    def answer(self, request: Any) -> Any:
        return self.voice if isinstance(request, Listen) else super().answer(request)


RECIPE = " One pound of lobster meat, one teaspoon of butter, and the yolks of four eggs."
COURSE = " And it was a matter of course that beautiful."
LONG = " In the Middle Ages, when craftsmen took care of forms, all of their productions were a part of it."
SOUNDS = [(1.0, 1.3), (2.0, 2.3), *ONE_EACH_HALF_SECOND]
REGIONS = (1.0, 9.0), (9.8, 14.0)


def swallowing() -> Heard:
    """A window with two sentences, of which the second has taken the time of both."""
    return Heard([(ts(1), *text(COURSE), ts(16)), (ts(0), *text(RECIPE), ts(8))], SOUNDS, *REGIONS)


def test_speech_that_a_segment_swallowed_is_found() -> None:
    """tiny.en gave 29 s to a sentence of 18, and left out the 24 words before it; by its length nothing was missing."""
    found, left = swallowing().transcribe(1650, vad="energy", word_timestamps=False)
    assert (found.text, found.recovered) == (RECIPE, True)
    assert (left.text, left.recovered, left.start, left.end) == (COURSE, False, 9.8, 14.0)
    assert found.end <= left.start
    assert not left.words


def test_words_of_a_segment_that_leaves_out_a_hole_are_looked_for_in_the_rest() -> None:
    found, left = swallowing().transcribe(1650, vad="energy")
    assert (found.text, left.text) == (RECIPE, COURSE)
    assert [word for word, _, _ in timed(left)][:3] == [" And", " it", " was"]
    assert [start for _, start, _ in timed(left)][:6] == pytest.approx([10 + place / 2 for place in range(6)], abs=0.05)
    assert (left.start, left.end) == (left.words[0].start, left.words[-1].end)


@pytest.mark.parametrize("options", [{"coverage_guard": False}, {"compat": True}])
def test_holes_are_the_guards_to_look_for(options: dict[str, Any]) -> None:
    speaker = swallowing()
    (segment,) = speaker.transcribe(1650, vad="energy", word_timestamps=False, **options)
    assert segment.start <= 1.0
    assert not speaker.asked


def test_words_are_looked_for_only_where_there_is_little_text_for_the_speech() -> None:
    speaker = Heard([(ts(1), *text(RECIPE + LONG), ts(16))], SOUNDS, *REGIONS)
    speaker.transcribe(1650, vad="energy", word_timestamps=False)
    assert not any(isinstance(request, Attend) for request in speaker.asked)
