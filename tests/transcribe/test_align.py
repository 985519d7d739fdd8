"""Times for a known text: what is said, how the windows walk, what is marked, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki import BackendError, OptionError, StoppedError
from sasayaki.alignment.heads import AlignmentHeads
from sasayaki.alignment.word_groups import WordGroup
from sasayaki.results import AlignedWord, Alignment
from sasayaki.transcribe import start
from sasayaki.transcribe.align import Aligned, AlignmentWork, Text, align_window, not_found, said_words, wrong_words
from sasayaki.transcribe.requests import Asking, Attend, Hear, Score, Window
from tests.fakes import byte_tokenizer, one_hot, text
from tests.scripted_model import make_english_model, make_model, tone

LIKELY, UNLIKELY, WRONG = -0.1, -8.0, -14.0


class Recording:
    """A recording in which some words of a text sound, each for a third of a second, at known times.

    A wrong word that is in the context makes the next one as unlikely as it is.
    """

    def __init__(self, said: str, sounds: Sequence[float | None], content_frames: int, n_text_ctx: int = 448) -> None:
        self.wrong: set[str] = set()
        self.work = AlignmentWork(
            Text.of(said, byte_tokenizer()), content_frames, n_text_ctx, AlignmentHeads(((0, 0),), (0.04,))
        )
        self.sounds = sounds
        self.windows: list[tuple[int, int]] = []
        self.longest = 0

    def align(self) -> list[AlignedWord]:
        words: list[AlignedWord] = []
        seek = 0
        while seek < self.work.content_frames and len(words) < len(self.work.text.groups):
            aligned = self._answered(align_window(self.work, len(words), seek), len(words))
            assert aligned.seek > seek
            words += aligned.words
            seek = aligned.seek
        return [*words, *not_found(self.work.text, len(words))]

    def _answered(self, part: Asking[Aligned], first: int) -> Aligned:
        answer: Any = None
        try:
            while True:
                answer = self._answer(part.send(answer), first)
        except StopIteration as end:
            return end.value

    def _answer(self, request: Any, first: int) -> np.ndarray:
        window = request.window
        self.longest = max(self.longest, len(getattr(request, "tokens", ())))
        begin = window.start / 100
        groups = self.work.text.groups[first:]
        heard = [
            None if at is None or not begin - 0.02 <= at <= window.end / 100 - 0.3 else at - begin
            for at in self.sounds[first:]
        ]
        if not isinstance(request, Hear) and self.wrong:
            fed = byte_tokenizer().decode(request.tokens).split()
            places = [place for place, group in enumerate(groups) if group.text.strip() in fed]
            groups, heard = tuple(groups[place] for place in places), [heard[place] for place in places]
        if isinstance(request, Score):
            self.windows.append((window.start, window.end))
            values = self._logprobs(groups, heard)
            return np.array(values[: len(request.tokens) - request.begin])
        if isinstance(request, Hear):
            levels = np.zeros(window.n_frames)
            for at in heard:
                if at is not None:
                    levels[max(0, round(at * 100)) : round(at * 100) + 30] = 10.0
            return levels
        assert isinstance(request, Attend)
        weights = np.full((1, len(request.tokens), 1500), 1e-6)
        row = len(byte_tokenizer().sot_sequence)
        for group, at in zip(groups, heard, strict=True):
            for step, _ in enumerate(group.tokens):
                if at is not None and row < len(request.tokens):
                    place = round(at * 50) + 1 + 12 * step // len(group.tokens)
                    weights[0, row, place : place + 3] = 0.3
                row += 1
        return weights

    def _logprobs(self, groups: Sequence[WordGroup], heard: Sequence[float | None]) -> list[float]:
        values: list[float] = []
        for place, (group, at) in enumerate(zip(groups, heard, strict=True)):
            beside = {each.text.strip() for each in groups[max(0, place - 1) : place + 1]}
            likely = LIKELY if at is not None else UNLIKELY
            values += [WRONG if beside & self.wrong else likely] * len(group.tokens)
        return values


def test_words_are_found_over_several_windows() -> None:
    sounds = [1.0 + 5 * number for number in range(16)]
    recording = Recording(" ".join("abcdefghijklmnop"), sounds, 8000)
    words = recording.align()
    assert [word.start for word in words] == pytest.approx(sounds, abs=0.05)
    assert [word.end for word in words] == pytest.approx([at + 0.3 for at in sounds], abs=0.05)
    assert all(word.probability == pytest.approx(np.exp(LIKELY)) for word in words)
    assert len(recording.windows) > 2


def test_words_that_are_not_said_have_no_times_and_the_others_keep_theirs() -> None:
    sounds = [1.0, 2.0, 3.0, None, None, 4.0, 5.0, 6.0, None, None]
    words = Recording("aa bb cc dd ee ff gg hh ii jj", sounds, 800).align()
    assert [word.is_aligned for word in words] == [at is not None for at in sounds]
    assert [word.start for word in words if word.is_aligned] == pytest.approx([1, 2, 3, 4, 5, 6], abs=0.05)
    assert words[3].probability == pytest.approx(np.exp(UNLIKELY))


def test_a_wrong_word_is_marked_and_what_stands_behind_it_is_judged_without_it() -> None:
    sounds = [1.0, 2.0, None, 3.0, 4.0, None, 5.0, 6.0]
    recording = Recording("aaaa bbbb x cccc dddd y eeee ffff", sounds, 800)
    assert all(word.is_aligned for word in recording.align())
    recording.wrong = {"x", "y"}
    words = recording.align()
    assert [word.is_aligned for word in words] == [at is not None for at in sounds]
    assert [word.start for word in words if word.is_aligned] == pytest.approx([1, 2, 3, 4, 5, 6], abs=0.05)
    assert words[2].probability == pytest.approx(np.exp(WRONG))
    assert words[3].probability == pytest.approx(np.exp(LIKELY))


def test_speech_before_the_text_is_passed_over_in_half_windows() -> None:
    recording = Recording("aa bb cc", [50.0, 51.0, 52.0], 6000)
    assert [word.start for word in recording.align()] == pytest.approx([50, 51, 52], abs=0.05)
    assert [start for start, _ in recording.windows[:3]] == [0, 1500, 3000]


def test_a_word_at_the_end_of_a_window_is_left_to_the_next() -> None:
    recording = Recording("aa bb cc", [1.0, 29.6, 31.0], 4000)
    assert [word.start for word in recording.align()] == pytest.approx([1.0, 29.6, 31.0], abs=0.05)
    assert recording.windows[1][0] < 200


def test_a_long_text_is_fed_in_parts_that_fit_the_context() -> None:
    sounds = [0.5 + number * 0.6 for number in range(40)]
    words = Recording(" ".join(["word"] * 40), sounds, 2600, n_text_ctx=64).align()
    assert [word.start for word in words] == pytest.approx(sounds, abs=0.1)


@pytest.mark.parametrize("n_long", [1, 2])
def test_a_word_longer_than_the_decoders_context_is_marked(n_long: int) -> None:
    long = "x" * 70
    recording = Recording(f"aa {' '.join([long] * n_long)} bb {long}", [0.5, *[None] * n_long, 2.0, None], 4000, 64)
    recording.wrong = {long}
    words = recording.align()
    found = [None if word.start is None else round(word.start, 1) for word in words]
    assert found == [0.5, *[None] * n_long, 2.0, None]
    assert recording.longest <= 64


def test_an_unlikely_word_among_likely_ones_is_said() -> None:
    sure, odd, wrong = np.full(2, LIKELY), np.array([UNLIKELY]), np.full(2, UNLIKELY)
    assert said_words([sure, odd, sure]) == [True, True, True]
    assert said_words([sure, wrong, wrong, sure]) == [True, False, False, True]
    assert said_words([sure, sure, odd, wrong]) == [True, True, False, False]
    assert said_words([odd, wrong]) == [False, False]
    assert said_words([]) == []


def test_wrong_words_are_between_words_that_are_said() -> None:
    sure, impossible, half = np.full(2, LIKELY), np.array([WRONG]), np.array([LIKELY, WRONG])
    assert wrong_words([sure, impossible, sure]) == {1}
    assert wrong_words([sure, half, sure]) == {1}
    assert wrong_words([impossible, sure, sure]) == {0}
    assert wrong_words([sure, impossible, impossible, impossible, sure, sure, sure, sure]) == {1, 3}
    assert wrong_words([sure, sure, impossible, impossible]) == set()
    assert wrong_words([sure, np.zeros(0), sure]) == set()
    assert wrong_words([]) == set()


@pytest.mark.parametrize(("n_frames", "n_found"), [(1, 0), (9, 0), (10, 5), (200, 5)])
def test_words_that_have_no_room_are_not_found(n_frames: int, n_found: int) -> None:
    """All were found within 0.01 s, each from 0.00 to 0.00."""
    part = align_window(Recording("aa bb cc dd ee", [], n_frames).work, 0, 0)
    answer: Any = None
    try:
        while True:
            match part.send(answer):
                case Score() as request:
                    answer = np.full(len(request.tokens) - request.begin, LIKELY)
                case Attend() as request:
                    answer = np.full((1, len(request.tokens), 1500), 1 / 1500)
                case request:
                    answer = np.full(request.window.n_frames, 10.0)
    except StopIteration as end:
        words = end.value.words
    assert len(words) == 5
    assert sum(word.is_aligned for word in words) == n_found
    assert all(word.start < word.end <= n_frames / 100 for word in words if word.is_aligned)


@given(
    st.lists(
        st.tuples(st.text("abc", min_size=1, max_size=4), st.floats(0.35, 20) | st.none()), min_size=1, max_size=20
    ),
    st.integers(10, 12_000),
)
@settings(max_examples=40, deadline=None)
def test_all_words_are_there_in_order_and_times_never_go_back(
    said: list[tuple[str, float | None]], content_frames: int
) -> None:
    place, sounds = 0.0, []
    for _, gap in said:
        place += gap or 0.0
        sounds.append(place if gap else None)
    joined = " ".join(word for word, _ in said)
    words = Recording(joined, sounds, content_frames).align()
    assert "".join(word.word for word in words) == f" {joined}"
    times = [time for word in words if word.is_aligned for time in (word.start, word.end)]
    assert times == sorted(times)
    assert not times or (times[0] >= 0 and times[-1] <= content_frames / 100)
    assert all((word.start is None) == (word.end is None) and 0 <= word.probability <= 1 for word in words)


def test_lines_and_sentences_are_lines() -> None:
    found = Text.of("One two. Three\n\n  four!\r\nFive", byte_tokenizer())
    lines = [
        "".join(group.text for group, line in zip(found.groups, found.lines, strict=True) if line == number)
        for number in range(4)
    ]
    assert lines == [" One two.", " Three", " four!", " Five"]
    japanese = Text.of("はい。いいえ。", byte_tokenizer("ja"))
    assert "".join(group.text for group in japanese.groups) == "はい。いいえ。"
    assert set(japanese.lines) == {0, 1}


def test_an_alignment_becomes_a_transcription_of_its_lines() -> None:
    words = (
        AlignedWord(word=" one", start=1.0, end=1.5, probability=0.9),
        AlignedWord(word=" odd"),
        AlignedWord(word=" lost", line=1),
        AlignedWord(word=" new", line=2),
        AlignedWord(word=" two.", start=2.0, end=2.5, probability=0.8, line=2),
    )
    alignment = Alignment(words=words, language="en", duration=3.0)
    assert alignment["words"][0]["start"] == 1.0
    transcription = alignment.to_transcription()
    assert [(each.start, each.end, each.text) for each in transcription.segments] == [
        (1.0, 1.5, " one odd"),
        (2.0, 2.5, " new two."),
    ]
    assert [(word.start, word.end) for word in transcription.segments[0].words] == [(1.0, 1.5), (1.5, 1.5)]
    assert transcription.text == " one odd new two."


def test_what_cannot_be_aligned_is_refused() -> None:
    with pytest.raises(OptionError, match="text of the recording"):
        make_model().align(tone("low", 1), " \n ")
    with pytest.raises(OptionError, match="multilingual"):
        make_english_model().align(tone("low", 1), "hallo", language="de")
    certain = make_model(lambda _, history: one_hot(text(" low")[(len(history) - 4) % 4]))
    with pytest.raises(BackendError, match="where attention looks"):
        certain.align(tone("low", 1), "low", "en")


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple[float, float]] = []
    alignment = make_model().align(tone("low", 70), "never said", "en", progress=lambda *at: told.append(at))
    assert not any(word.is_aligned for word in alignment.words)
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == (70.0, 70.0)


@pytest.mark.parametrize("n_asked", [0, 1, 2, 4])
def test_a_cancelled_alignment_stops_within_a_call_of_the_engine(n_asked: int) -> None:
    model = make_model()
    asked = 0

    def cancel() -> bool:
        nonlocal asked
        asked += 1
        return asked > n_asked

    with pytest.raises(StoppedError, match="cancelled") as caught:
        model.align(tone("low", 70), "never said", "en", cancel=cancel)
    assert caught.value.reason == "cancel"
    assert asked == n_asked + 1


def test_what_was_found_before_a_stop_is_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    words = (AlignedWord(word=" one", start=1.0, end=1.5, probability=0.9),)
    n_windows = 0

    def align_window(*_: object) -> Asking[Aligned]:
        nonlocal n_windows
        n_windows += 1
        yield Hear(Window(0, 3000))
        return Aligned(words, 3000 * n_windows)

    monkeypatch.setattr(start, "align_window", align_window)
    with pytest.raises(StoppedError) as caught:
        make_model().align(tone("low", 70), "one two three", "en", cancel=lambda: n_windows == 2)
    assert [word.word for word in caught.value.transcription.segments[0].words] == [" one"]


def test_a_time_limit_ends_an_alignment() -> None:
    with pytest.raises(StoppedError, match="time_limit") as caught:
        make_model().align(tone("low", 2), "never said", "en", time_limit=1e-9)
    assert caught.value.reason == "time_limit"
    with pytest.raises(OptionError, match="time_limit"):
        make_model().align(tone("low", 2), "never said", "en", time_limit=0)
