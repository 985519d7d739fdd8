"""Word alternatives: readings aligned into slots."""

from __future__ import annotations

import random

import pytest

from sasayaki.decoding.confusion import Reading, align_readings
from sasayaki.results import Slot


def align(*readings: str, weights: list[float] | None = None) -> tuple[Slot, ...]:
    shares = weights or [1.0] * len(readings)
    return align_readings([Reading(tuple(r.split()), weight) for r, weight in zip(readings, shares, strict=True)])


def table(slots: tuple[Slot, ...]) -> list[tuple[str, dict[str, float]]]:
    return [(slot.text, {each.text: round(each.probability, 6) for each in slot.alternatives}) for slot in slots]


def test_one_reading_is_certain() -> None:
    assert table(align("what is said")) == [("what", {"what": 1}), ("is", {"is": 1}), ("said", {"said": 1})]
    assert align("") == ()


def test_words_in_one_place_share_its_probability() -> None:
    slots = align("I see two ships", "I see too ships", "I see two chips", weights=[2, 1, 1])
    assert table(slots) == [
        ("I", {"I": 1}),
        ("see", {"see": 1}),
        ("two", {"two": 0.75, "too": 0.25}),
        ("ships", {"ships": 0.75, "chips": 0.25}),
    ]


def test_a_word_that_others_lack_may_be_nothing() -> None:
    assert table(align("a very big dog", "a big dog", weights=[3, 1]))[1] == ("very", {"very": 0.75, "": 0.25})


def test_a_word_that_only_others_have_gets_a_slot_without_text() -> None:
    slots = align("a big dog", "a very big dog", "a rather big dog", weights=[2, 1, 1])
    assert table(slots)[1] == ("", {"": 0.5, "very": 0.25, "rather": 0.25})
    assert [slot.text for slot in slots] == ["a", "", "big", "dog"]


def test_words_that_look_alike_share_a_place() -> None:
    slots = align("lobster a little new bird", "lopster Alan Newberg")
    assert [set(row[1]) for row in table(slots)] == [
        {"lobster", "lopster"},
        {"a", "Alan"},
        {"little", ""},
        {"new", "Newberg"},
        {"bird", ""},
    ]


def test_case_and_punctuation_do_not_part_words_but_are_alternatives() -> None:
    slots = align("Well, Ann said", "well ann Said.", "Ann said")
    assert [set(row[1]) for row in table(slots)] == [{"Well,", "well", ""}, {"Ann", "ann"}, {"said", "Said."}]


def test_the_likeliest_comes_first_even_against_the_best_hypothesis() -> None:
    slot = align("red", "read", "read")[0]
    assert (slot.text, slot.alternatives[0].text) == ("red", "read")


def test_weights_may_be_of_any_scale() -> None:
    assert table(align("a b", "a c", weights=[1e-300, 1e-300])) == table(align("a b", "a c"))
    assert ("a", {"a": 1.0, "b": 0.0}) in table(align("x a", "x b", weights=[1.0, 0.0]))


@pytest.mark.parametrize("case", range(60))
def test_slots_hold_every_reading_in_order_and_sum_to_one(case: int) -> None:
    draw = random.Random(case)
    readings = [" ".join(draw.choices("ab,cde", k=draw.randrange(9))) for _ in range(draw.randrange(1, 6))]
    weights = [draw.random() for _ in readings]
    slots = align(*readings, weights=weights)
    assert " ".join(slot.text for slot in slots if slot.text) == readings[0]
    for slot in slots:
        assert sum(each.probability for each in slot.alternatives) == pytest.approx(1.0)
        assert slot.text in {each.text for each in slot.alternatives}
        assert len({each.text for each in slot.alternatives}) == len(slot.alternatives)
    for reading in readings:
        assert is_a_path(reading.split(), slots)


def is_a_path(words: list[str], slots: tuple[Slot, ...]) -> bool:
    """Whether the words can be read off the slots, one alternative from each."""
    reached = {0}
    for slot in slots:
        texts = {each.text for each in slot.alternatives}
        steps = {at + 1 for at in reached if at < len(words) and words[at] in texts}
        reached = steps | (reached if "" in texts else set())
    return len(words) in reached
