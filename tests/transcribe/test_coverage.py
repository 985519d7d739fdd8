"""Speech that no text covers is found, decoded again, and kept when it is better."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sasayaki import TranscribeOptions
from sasayaki.results import Segment
from sasayaki.transcribe.coverage import Gap, find_gaps, frames_of, guard_options, is_better
from sasayaki.transcribe.recording import Recording
from sasayaki.transcribe.requests import Window
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice
from tests.fakes import text, ts
from tests.transcribe.scripted_decoder import Answer, result
from tests.transcribe.test_evidence import transcribed, voiced


@pytest.fixture
def everything_is_voice() -> None:
    """Voices and gaps are as they are."""


def segment(start: float, end: float, words: str) -> Segment:
    return Segment(
        id=0,
        seek=0,
        start=start,
        end=end,
        text=words,
        tokens=(),
        temperature=0.0,
        avg_logprob=-0.2,
        compression_ratio=1.0,
        no_speech_prob=0.0,
        language="en",
    )


def voice(*regions: tuple[float, float], end: float = 30.0) -> Voice:
    return Voice(0.0, end, np.ones(0, np.float32), tuple(Region(*region) for region in regions))


def gaps(segments: list[Segment], *regions: tuple[float, float], end: float = 30.0) -> list[tuple[float, ...]]:
    found = find_gaps(segments, voice(*regions, end=end), start=0.0, end=end)
    return [(round(gap.start, 2), round(gap.end, 2), gap.first, gap.last) for gap in found]


GUARDED = {"coverage_guard": True}
LONG = " a sentence of many words that takes its time"


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([(1, 10)], []),
        ([(1, 10), (12, 13)], []),  # 1 s may be a sound or a coarse timestamp
        ([(1, 10), (12, 20)], [(11.8, 20.2, 1, 1)]),
        ([(1, 10), (12, 12.6), (14, 14.7)], [(11.8, 14.9, 1, 1)]),  # together they are enough
        ([(1, 11)], []),  # 0.7 s behind what the segment covers
        ([(1, 30)], [(10.3, 30, 1, 1)]),
        ([], []),
    ],
)
def test_speech_behind_the_last_segment_is_a_gap(
    regions: list[tuple[float, float]], expected: list[tuple[float, ...]]
) -> None:
    """A window that ended early lost a whole utterance."""
    assert gaps([segment(1, 10, LONG * 3)], *regions) == expected


def test_speech_before_and_between_segments_is_a_gap() -> None:
    segments = [segment(10, 14, LONG), segment(20, 24, LONG)]
    assert gaps(segments, (3, 6), (10, 14), (15, 19), (20, 24)) == [(2.8, 6.2, 0, 0), (14.8, 19.2, 1, 1)]


@pytest.mark.parametrize(
    ("segments", "region", "expected"),
    [
        ([segment(1, 9, LONG * 3)], (0.3, 9), [(0, 9, 0, 1)]),
        ([segment(1, 9, LONG * 3)], (0.4, 9), []),
        ([segment(1, 9, " yes")], (0, 9), [(0, 9, 0, 1)]),  # once, though it says little, too
        ([segment(2, 9, LONG * 3)], (0, 9), [(0, 1.7, 0, 0)]),
        ([segment(0, 4, LONG * 2), segment(5, 9, LONG * 2)], (0, 9), []),
    ],
)
def test_the_first_segment_is_heard_again_where_much_is_said_before_it(
    segments: list[Segment], region: tuple[float, float], expected: list[tuple[float, ...]]
) -> None:
    """A clause of 13 words was left out, and the next one stood 1 s behind the start of the window in its place."""
    assert gaps(segments, region) == expected


def test_all_speech_of_a_window_without_text_is_a_gap() -> None:
    assert gaps([], (3, 6), (8, 9)) == [(2.8, 9.2, 0, 0)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [(" yes", [(1.8, 12.2, 0, 1)]), (LONG, [(1.8, 12.2, 0, 1)]), (LONG * 3, []), (" 今日は晴れています。" * 4, [])],
)
def test_a_segment_with_too_little_text_for_its_speech_is_a_gap(words: str, expected: list[tuple[float, ...]]) -> None:
    assert gaps([segment(0, 14, words)], (2, 12)) == expected


def test_the_start_of_the_next_sentence_is_not_decoded_with_a_gap() -> None:
    """Half a word at the end of a stretch was written twice."""
    assert gaps([segment(0, 14, " yes")], (2, 12), (13.4, 18), end=14.0) == [(1.8, 12.2, 0, 1)]


def test_a_short_word_may_be_drawn_out() -> None:
    assert gaps([segment(0, 3, " no")], (0.2, 2.9)) == []


def test_speech_that_the_next_window_hears_is_no_gap() -> None:
    assert gaps([segment(0, 10, LONG * 3)], (0, 10), (11, 20), end=10.0) == []


@pytest.mark.parametrize(
    ("found", "gap", "expected"),
    [
        (" something else", Gap(4, 8, 1, 1), True),
        ("", Gap(4, 8, 1, 1), False),
        (" is what was said", Gap(4, 8, 1, 1), False),  # the segment before it says so
        (" and then more", Gap(4, 8, 1, 1), False),  # so does the one behind it
        (" this here is what was said, and much that was lost before", Gap(0, 4, 0, 1), True),
        (" this is what was heard", Gap(0, 4, 0, 1), False),  # hardly more
    ],
)
def test_new_text_is_kept_where_it_is_more_and_no_echo(found: str, gap: Gap, expected: bool) -> None:
    held = [segment(0, 4, " this is what was said"), segment(8, 10, " and then some more")]
    assert is_better([segment(4, 8, found)] if found else [], held, gap) == expected


def test_a_gap_is_decoded_with_beams_and_without_a_prompt() -> None:
    greedy = guard_options(TranscribeOptions(beam_size=None, temperature=0.4, initial_prompt="x"), "de")
    assert (greedy.beam_size, greedy.best_of, greedy.temperature, greedy.prompt) == (5, None, 0.0, ())
    assert greedy.language == "de"
    assert guard_options(TranscribeOptions(beam_size=8), "de").beam_size == 8


def swallowing(lost: tuple[int, ...], **changes: Any) -> Answer:
    """Says ` a` up to 5 s in the first window and nothing behind; ` b` where the rest is asked for alone."""
    first = (ts(0), *text(" all that was said first of all and then some more"), ts(5))

    def answer(question: Any) -> Any:
        if question.size == 3000:
            return result(first)
        return result(lost, **changes)

    return answer


LOST = (ts(0), *text(" and what was lost for quite a while, it seems"), ts(4))


def test_swallowed_speech_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 5), (10, 14))
    decoder, (window,) = transcribed(swallowing(LOST), 3000, **GUARDED)
    assert [(question.seek, question.size) for question in decoder.questions] == [(0, 3000), (971, 461)]
    assert [(s.id, s.text, s.recovered) for s in window.segments] == [
        (0, " all that was said first of all and then some more", False),
        (1, " and what was lost for quite a while, it seems", True),
    ]
    assert window.segments[1].start == pytest.approx(9.9, abs=0.04)
    assert window.segments[1].seek == 971
    assert (window.n_guard_decodes, window.place.n_segment, window.place.seek) == (1, 2, 3000)


@pytest.mark.parametrize(("end", "contexts"), [(4, [3000, 800]), (7, [3000, 800, 3000])])
def test_a_gap_is_encoded_short_and_again_in_full_where_that_looks_wrong(
    monkeypatch: pytest.MonkeyPatch, end: float, contexts: list[int]
) -> None:
    voiced(monkeypatch, (0, 5), (10, 14))
    decoder, (window,) = transcribed(swallowing((*LOST[:-1], ts(end))), 3000, short_context=True, **GUARDED)
    assert decoder.contexts == contexts
    assert window.segments[1].text == " and what was lost for quite a while, it seems"
    assert window.n_guard_decodes == 1


@pytest.mark.parametrize(("changes", "n_decodes"), [({"avg_logprob": -1.5}, 1), ({"compression_ratio": 3.0}, 3)])
def test_what_does_not_pass_the_thresholds_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, float], n_decodes: int
) -> None:
    voiced(monkeypatch, (0, 5), (10, 14))
    _, (window,) = transcribed(swallowing(LOST, **changes), 3000, **GUARDED)
    assert [s.text for s in window.segments] == [" all that was said first of all and then some more"]
    assert window.n_guard_decodes == n_decodes


@pytest.mark.parametrize("options", [{"coverage_guard": False}, {"vad": "off"}, {"compat": True}])
def test_the_guard_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    voiced(monkeypatch, (0, 5), (10, 14))
    decoder, (window,) = transcribed(swallowing(LOST), 3000, **{**GUARDED, **options})
    assert len(decoder.questions) == 1
    assert (len(window.segments), window.n_guard_decodes) == (1, 0)


def test_a_window_that_the_model_takes_for_silent_is_decoded_again_where_somebody_speaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    voiced(monkeypatch, (10, 14), sound=0.2)

    def answer(question: Any) -> Any:
        if question.size == 3000:
            return result(LOST, no_speech_prob=0.9, avg_logprob=-1.5)
        return result(LOST)

    _, (window,) = transcribed(answer, 3000, **GUARDED)
    assert [(s.text, s.recovered) for s in window.segments] == [
        (" and what was lost for quite a while, it seems", True)
    ]
    assert [s.rejected for s in window.rejected] == ["no_speech_threshold"]


def test_the_same_stretch_is_not_decoded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 5), (10, 25))
    decoder, _ = transcribed(swallowing(()), 3000, **GUARDED)
    assert len(decoder.questions) == 2


def test_what_was_decoded_again_is_looked_through_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 5), (10, 14), (16, 19))
    decoder, (window,) = transcribed(swallowing(LOST), 3000, **GUARDED)
    assert len(decoder.questions) == 3
    assert [s.text for s in window.segments] == [
        " all that was said first of all and then some more",
        " and what was lost for quite a while, it seems",
    ], "the second is an echo"


def repeating(most_frames: int, **changes: Any) -> Answer:
    """Says ` seven` twice a second, with these figures when it hears more than so many frames."""

    def answer(question: Any) -> Any:
        seconds = question.size // 100
        said = (ts(0), *text(" seven" * 2 * seconds), ts(seconds))
        return result(said) if question.size <= most_frames else result(said, **changes)

    return answer


LOOP = {"compression_ratio": 5.0, "no_speech_prob": 0.5}


def test_a_real_repetition_that_looks_like_a_loop_is_heard_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven said ten times had no text at all: its only fault is that it repeats itself."""
    voiced(monkeypatch, (0, 12))
    decoder, (window,) = transcribed(repeating(700, **LOOP), 1200, temperature=0.0, **GUARDED)
    assert [s.text for s in window.segments] == [" seven" * 12, " seven" * 12]
    assert [s.recovered for s in window.segments] == [True, True]
    assert [s.rejected for s in window.rejected] == ["guess"]
    assert window.n_guard_decodes == 3
    first, second = decoder.questions[-2:]
    assert (first.seek, second.seek + second.size) == (0, 1200)
    assert first.size == second.seek == pytest.approx(600, abs=100)


@pytest.mark.parametrize(
    ("half", "is_kept"), [(" Seven, seven.", True), (" seven, even seven", False), (" you", False)]
)
def test_a_half_that_says_what_the_whole_repeats_is_no_guess(
    monkeypatch: pytest.MonkeyPatch, half: str, is_kept: bool
) -> None:
    """*Two* said ten times was *Do, do* as a whole and *Do, do, do.* in its halves, which were rejected as guesses."""

    def answer(question: Any) -> Any:
        if question.size > 700:
            return result((ts(0), *text(" seven seven"), ts(12)), **LOOP)
        return result((ts(0), *text(half), ts(5)), no_speech_prob=0.7, avg_logprob=-0.9)

    voiced(monkeypatch, (0, 12), recurrence=0.5)
    _, (window,) = transcribed(answer, 1200, temperature=0.0, **GUARDED)
    assert [s.text for s in window.segments] == [half, half] * is_kept
    assert not any(s.rejected for s in window.segments)


@pytest.mark.parametrize("n_frames", [1207, 1253, 1301])
def test_halves_do_not_overlap(monkeypatch: pytest.MonkeyPatch, n_frames: int) -> None:
    """Each took the frame that the cut was in."""
    voiced(monkeypatch, (0, n_frames / 100))
    decoder, _ = transcribed(repeating(750, **LOOP), n_frames, temperature=0.0, **GUARDED)
    first, second = decoder.questions[-2:]
    assert first.seek + first.size == second.seek


def test_halves_are_halved_again_as_long_as_they_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 4))
    decoder, (window,) = transcribed(repeating(0, **LOOP), 400, temperature=0.0, **GUARDED)
    assert window.segments == ()
    assert window.n_guard_decodes == len(decoder.questions) - 1 <= 7
    assert min(question.size for question in decoder.questions) >= 100


def test_a_gap_of_a_long_window_is_halved_three_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 30))
    _, (window,) = transcribed(repeating(0, **LOOP), 3000, temperature=0.0, **GUARDED)
    assert window.n_guard_decodes == 1 + 2 + 4 + 8


def test_a_half_is_cut_where_nobody_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 4.9), (5.1, 12))
    decoder, _ = transcribed(repeating(800, **LOOP), 1200, temperature=0.0, **GUARDED)
    assert decoder.questions[2].size == pytest.approx(500, abs=4)


def swallowing_again(second: str, most_frames: int = 1300) -> Answer:
    """Says one sentence of whatever begins at 0 or is long, and `second` of what begins later."""

    def answer(question: Any) -> Any:
        first = " it begins with this" if question.size > most_frames else " it begins with this, and there is" + LONG
        said = first if question.seek < 100 else second
        return result((ts(0), *text(said), ts(question.size // 100)))

    return answer


MORE = " and then it goes on with a good deal more of it, much more than what was said before"


@pytest.mark.parametrize(
    ("second", "texts"),
    [
        (MORE, [" it begins with this, and there is" + LONG, MORE]),
        (" it begins with this, and there is a sentence", [" it begins with this"]),  # an echo
    ],
)
def test_fast_speech_that_is_swallowed_again_is_heard_in_halves(
    monkeypatch: pytest.MonkeyPatch, second: str, texts: list[str]
) -> None:
    """62 words were lost behind the first five; decoded again from the same start they were lost again."""
    voiced(monkeypatch, (0, 16))
    _, (window,) = transcribed(swallowing_again(second), 1600, temperature=0.0, **GUARDED)
    assert [s.text for s in window.segments] == texts


def test_halves_that_say_little_are_halved_again(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0, 30))
    decoder, _ = transcribed(swallowing_again(MORE, most_frames=900), 3000, temperature=0.0, **GUARDED)
    assert min(question.size for question in decoder.questions) < 900


@pytest.mark.parametrize(("seconds", "said"), [(6, " this"), (20, "")])
def test_little_speech_and_no_text_are_not_heard_in_halves(
    monkeypatch: pytest.MonkeyPatch, seconds: int, said: str
) -> None:
    voiced(monkeypatch, (0, seconds))
    answer = lambda question: result((ts(0), *text(said), ts(question.size // 100)) if said else ())  # noqa: E731
    decoder, _ = transcribed(answer, 100 * seconds, temperature=0.0, **GUARDED)
    assert len(decoder.questions) == 2


def test_frames_of_a_gap_are_those_of_its_times() -> None:
    """0.29 s times 100 is a little less than 29."""
    assert frames_of(Gap(0.29, 2.29, 0, 0)) == (29, 229)


def short(words: str, **after_all: float) -> Answer:
    """Doubts a short word; asked again with silence behind it, it hears these words, with these figures."""

    def answer(question: Any) -> Any:
        if question.options.prompt == () and question.options.temperature == 0.0 and question.size < 150:
            return result((ts(0), *text(words), ts(1)), **after_all)
        return result((ts(0), *text(" too"), ts(1)), no_speech_prob=0.7, avg_logprob=-1.2)

    return answer


@pytest.mark.parametrize(
    ("words", "after_all", "kept"),
    [
        (" two", {"no_speech_prob": 0.3, "avg_logprob": -0.9}, [" two"]),
        (" two", {"no_speech_prob": 0.5, "avg_logprob": -0.7}, [" two"]),
        (" two", {"no_speech_prob": 0.5, "avg_logprob": -0.9}, []),
        (" Thank you so much for watching.", {"no_speech_prob": 0.3}, []),  # nobody speaks so fast
    ],
)
def test_a_short_word_that_was_rejected_is_listened_to_again(
    monkeypatch: pytest.MonkeyPatch, words: str, after_all: dict[str, float], kept: list[str]
) -> None:
    """Single words that fill their recording were rejected; what may be a laugh still is."""
    voiced(monkeypatch, (0.5, 1.1))
    _, (window,) = transcribed(short(words, **after_all), 200, temperature=0.0, **GUARDED)
    assert [s.text for s in window.segments] == kept
    assert [(s.text, s.rejected) for s in window.rejected] == [(" too", "no_speech_threshold")]
    assert window.n_guard_decodes == 1


def test_a_short_sound_without_rejected_text_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    voiced(monkeypatch, (0.5, 1.1))
    _, (window,) = transcribed(lambda question: result(()), 200, temperature=0.0, **GUARDED)
    assert window.n_guard_decodes == 0


@pytest.mark.parametrize(("end", "ends_in_silence"), [(0.8, True), (4.0, False)])
def test_only_a_short_stretch_is_heard_before_silence(
    monkeypatch: pytest.MonkeyPatch, end: float, ends_in_silence: bool
) -> None:
    """Behind 20 s of noisy speech silence made base say *Thank you for watching this video*."""
    voiced(monkeypatch, (2.0, 2.0 + end), sound=0.2)
    asked: list[Window] = []
    read = Recording.window

    def window(self: Recording, window: Window) -> np.ndarray:
        asked.append(window)
        return read(self, window)

    monkeypatch.setattr(Recording, "window", window)
    answer = lambda question: result((ts(0), *text(" you"), ts(2)), no_speech_prob=0.7, avg_logprob=-1.2)  # noqa: E731
    transcribed(answer, round(100 * end) + 400, temperature=0.0, **GUARDED)
    assert [each.ends_in_silence for each in asked] == [False, ends_in_silence]
