"""Segments that begin with the same word because the text before them does: found, and decoded without that text."""

from __future__ import annotations

import pytest

from sasayaki.results import DecodingResult
from sasayaki.transcribe.habits import find_habit
from tests.fakes import text, ts
from tests.transcribe.scripted_decoder import Question, ScriptedDecoder, result, run

NUMBERED = (" 0. Front, center.", " 0. That agent is on.", " 0. Please enter it.")
PLAIN = (" Front, center.", " That agent is on.", " Please enter it.")


@pytest.mark.parametrize(
    ("said", "texts", "word"),
    [
        ((), NUMBERED, "0"),
        (NUMBERED, (" It was here.", " 0. And this."), "0"),
        (NUMBERED[:1], (" 0. And this.", " It was here.", " 0. Or this."), "0"),
        ((" So, a.", " So, b."), (" So, c.", " So d."), "so"),
        ((" So, a.", " So, b.", " So, c."), (" So d.", " Then."), "so"),
        ((), ("はい、a", "はい、b", "はい、c", "はい、d"), "は"),
    ],
)
def test_a_word_that_segments_begin_with_on_end_or_a_number_that_some_do_may_be_a_habit(
    said: tuple[str, ...], texts: tuple[str, ...], word: str
) -> None:
    assert find_habit(said, texts) == word


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        (NUMBERED, PLAIN),  # it is over
        ((), NUMBERED[:2]),
        ((), (" 1. a", " 2. b", " 3. c", " 4. d")),
        ((), (" I see.", " I know.", " Yes.", " I do.", " I say.")),
        ((" So a.", " So b.", " So c.", " So d."), (" Then.",)),
        ((), (" ...", " ...", " ...", " ...")),
        ((), ()),
    ],
)
def test_what_people_begin_with_is_no_habit(said: tuple[str, ...], texts: tuple[str, ...]) -> None:
    assert find_habit(said, texts) == ""


def segments_of(texts: tuple[str, ...]) -> tuple[int, ...]:
    """Tokens of a window with segments of 5 s."""
    return tuple(token for place, said in enumerate(texts) for token in (ts(5 * place), *text(said), ts(5 * place + 5)))


def answers(told: tuple[str, ...], untold: tuple[str, ...], avg_logprob: float = -0.2) -> ScriptedDecoder:
    """A decoder whose first window says numbered texts, and the others what they say with a prompt and without."""

    def answer(question: Question) -> DecodingResult:
        if question.seek == 0:
            return result(segments_of((" One.", *NUMBERED, " Two.", " Three.")))
        is_told = bool(question.options.prompt)
        return result(segments_of(told if is_told else untold), avg_logprob=-0.2 if is_told else avg_logprob)

    return ScriptedDecoder(answer)


def texts_of(decoder: ScriptedDecoder, **options: object) -> list[str]:
    return [segment.text for segment in run(decoder, 4500, temperature=0.0, **options) if segment.start >= 30]


def test_a_window_with_a_habit_is_decoded_without_the_text_before_it() -> None:
    """A speaker said *zero* once, and 110 segments on end began with *0.* (tiny.en, 13 minutes)."""
    decoder = answers(NUMBERED, PLAIN)
    segments = [segment for segment in run(decoder, 7500, temperature=0.0) if segment.start >= 30]
    assert [segment.text for segment in segments[:3]] == [*PLAIN]
    assert [attempt.failed for attempt in segments[0].attempts] == [("habit",), ()]
    third = next(question for question in decoder.questions if question.seek > 3000)
    assert [*third.options.prompt] == [token for segment in segments[:3] for token in segment.tokens]


def test_a_habit_that_stays_without_the_text_before_is_what_somebody_says() -> None:
    decoder = answers(NUMBERED, (NUMBERED[0], NUMBERED[1], PLAIN[2]))
    segments = [segment for segment in run(decoder, 4500, temperature=0.0) if segment.start >= 30]
    assert [segment.text for segment in segments] == [*NUMBERED]
    assert [attempt.failed for attempt in segments[0].attempts] == [(), ("habit",)]


def test_a_decode_without_the_text_before_has_to_pass_the_thresholds() -> None:
    assert texts_of(answers(NUMBERED, PLAIN, avg_logprob=-1.5)) == [*NUMBERED]


@pytest.mark.parametrize(
    "options",
    [
        {"loop_guard": False},
        {"compat": True},
        {"condition_on_previous_text": False},
        {"condition_on_previous_text": False, "initial_prompt": "Agents."},
    ],
)
def test_habits_are_looked_for_where_loops_are_and_text_is_carried_on(options: dict[str, object]) -> None:
    decoder = answers(NUMBERED, NUMBERED)
    assert texts_of(decoder, **options) == [*NUMBERED]
    assert len(decoder.questions) == 2


@pytest.mark.parametrize("is_carried", [True, False])
def test_the_initial_prompt_is_told_again(is_carried: bool) -> None:
    """Segments may begin so because it does."""
    decoder = answers(NUMBERED, NUMBERED)
    run(decoder, 4500, temperature=0.0, initial_prompt="Agents.", carry_initial_prompt=is_carried)
    assert [tuple(question.options.prompt) for question in decoder.questions[2:]] == [text(" Agents.")]


def test_a_first_window_has_no_habit_of_the_text_before() -> None:
    decoder = ScriptedDecoder(lambda question: result(segments_of(NUMBERED)))
    run(decoder, 1500, temperature=0.0, initial_prompt="0. Agents.")
    assert len(decoder.questions) == 1
