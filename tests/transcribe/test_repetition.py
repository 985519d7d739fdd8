"""A text that repeats itself is kept where somebody does, and is a loop elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sasayaki.transcribe.repetition import is_repetition, n_alike, n_turns
from sasayaki.vad.regions import Region
from tests.fakes import text, ts
from tests.transcribe.scripted_decoder import result
from tests.transcribe.test_evidence import transcribed, voiced

FIVES = " five. five. five. five. five. five. five. five."


def said(*lengths: float) -> list[Region]:
    """Stretches of speech of these lengths, a second apart."""
    return [Region(float(place), place + length) for place, length in enumerate(lengths)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Five. five, FIVE five", 4),
        ("I love it I love it I love it", 3),
        ("so, one two three one two three one two three", 3),
        ("so one two three four one two three four and more than that", 0),
        ("8888888", 7),
        ("七、七、七、七", 4),
        ("はいはいはいはい", 4),
        ("all different words here", 0),
        ("the land of the sea, the land of the land, the sea of the land, the land of the sea", 0),
        ("...", 0),
        ("", 0),
    ],
)
def test_turns_are_counted_in_words_or_letters(words: str, expected: int) -> None:
    assert n_turns(words) == expected


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([0.5, 0.5, 0.45, 0.6, 0.5, 0.1], 5),
        ([0.5, 0.5, 0.45, 0.6, 2.0, 0.1], 0),  # too much else
        ([0.5, 0.5, 0.5], 3),
        ([0.5, 0.5], 0),
        ([], 0),
    ],
)
def test_stretches_are_alike_when_they_last_about_as_long_as_most(lengths: list[float], expected: int) -> None:
    assert n_alike(said(*lengths)) == expected


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        (said(*[0.5] * 8), True),
        (said(*[0.5] * 6), True),  # a word may be heard in two syllables now and then
        (said(*[0.5] * 5), False),  # more turns than voices
        (said(0.2, 0.5, 1.0, 1.6, 2.3, 3.1, 4.0, 0.1), False),  # speech of all kinds
        (said(4.0), False),
        (said(), False),
    ],
)
def test_a_repetition_has_as_many_voices_as_turns(spoken: Sequence[Region], expected: bool) -> None:
    assert is_repetition(FIVES, spoken) == expected


def attempts(monkeypatch: pytest.MonkeyPatch, regions: Sequence[Region], **options: Any) -> tuple[int, str]:
    """How often a window is decoded in which FIVES is said or not, and its text."""
    voiced(monkeypatch, *((region.start, region.end) for region in regions))
    decoder, (window,) = transcribed(
        lambda question: result((ts(0), *text(FIVES), ts(10)), compression_ratio=5.0),
        1000,
        coverage_guard=False,
        **options,
    )
    return len(decoder.questions), "".join(segment.text for segment in window.segments)


def test_a_word_that_is_said_again_and_again_passes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """*Five* said ten times, heard right at temperature 0, was decoded again for its compression ratio, and worse."""
    assert attempts(monkeypatch, said(*[0.5] * 10)) == (1, FIVES)


@pytest.mark.parametrize("regions", [said(9.0), said(*[0.5] * 3)])
def test_a_loop_over_other_speech_is_decoded_again(monkeypatch: pytest.MonkeyPatch, regions: list[Region]) -> None:
    assert attempts(monkeypatch, regions)[0] == 6


@pytest.mark.parametrize("options", [{"vad": "off"}, {"compat": True}])
def test_without_voice_activity_it_is_a_loop(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    assert attempts(monkeypatch, said(*[0.5] * 10), **options)[0] == 6


@pytest.mark.parametrize(
    ("words", "regions", "is_kept"),
    [
        (" Do. Do. Do.", said(0.5, 0.5, 0.5), True),
        (" Do. Do.", said(0.5, 0.5, 0.5), False),
        (" Thank you for that.", said(0.5, 0.5, 0.5), False),
        (" Do. Do. Do.", said(0.2, 0.5, 0.9), False),
    ],
)
def test_a_word_that_is_said_three_times_is_no_guess(
    monkeypatch: pytest.MonkeyPatch, words: str, regions: list[Region], is_kept: bool
) -> None:
    """*Two* said three times: base leans to silence, and its text is unlikely."""
    voiced(monkeypatch, *((region.start, region.end) for region in regions))
    answer = result((ts(0), *text(words), ts(3)), no_speech_prob=0.7, avg_logprob=-0.9)
    _, (window,) = transcribed(lambda question: answer, 300, coverage_guard=False)
    assert bool(window.segments) == is_kept
