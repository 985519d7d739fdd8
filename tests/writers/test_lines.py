"""Lines of words as openai/whisper breaks them."""

from __future__ import annotations

import html
import re
from itertools import groupby

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sasayaki.errors import OptionError
from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Word
from sasayaki.writers import render
from tests.writers.transcriptions import make_segment, make_transcription, read_srt, read_vtt, to_ms


def spoken(text: str, start: float = 0.0, pace: float = 0.5) -> Segment:
    """A segment whose words follow each other without pause."""
    words = [
        Word(word=f" {word}", start=start + pace * place, end=start + pace * (place + 1), probability=0.9)
        for place, word in enumerate(text.split())
    ]
    return make_segment(words[0].start, words[-1].end, f" {text}", words=tuple(words))


def texts(*segments: Segment, **options: int) -> list[str]:
    return [cue[2] for cue in read_srt(render(make_transcription(*segments), "srt", WriterOptions(**options)))]


LONG = spoken("And so my fellow Americans ask not what your country can do for you", pace=1.5)


def test_lines_are_broken_at_the_width() -> None:
    assert texts(LONG, max_line_width=20) == ["And so my fellow\nAmericans ask not\nwhat your country\ncan do for you"]


def test_cues_hold_a_number_of_lines_and_have_the_times_of_their_words() -> None:
    """B130."""
    content = render(make_transcription(LONG), "vtt", WriterOptions(max_line_width=20, max_line_count=2))
    assert read_vtt(content) == [
        ("00:00.000", "00:10.500", "And so my fellow\nAmericans ask not"),
        ("00:10.500", "00:21.000", "what your country\ncan do for you"),
    ]


def test_with_width_and_count_cues_run_over_segments_up_to_a_pause() -> None:
    near, far = spoken("one two", 0.0), spoken("three four", 1.5)
    assert texts(near, far, max_line_width=20, max_line_count=1) == ["one two three four"]
    assert texts(near, spoken("three", 9.0), max_line_width=20, max_line_count=1) == ["one two", "three"]
    assert texts(near, far, max_line_width=20) == ["one two", "three four"]


@pytest.mark.parametrize(("text", "cues"), [("a b c d e", ["a b c", "d e"]), ("a b c d e f", ["a b c", "d e f"])])
def test_cues_hold_a_number_of_words(text: str, cues: list[str]) -> None:
    """B131."""
    assert texts(spoken(text), max_words_per_line=3) == cues


def test_words_with_equal_times_give_cues_that_last() -> None:
    """B131."""
    words = tuple(Word(word=f" {word}", start=1.0, end=1.0, probability=0.5) for word in "abcd")
    segments = (make_segment(1, 1, " a b c d", words=words), spoken("later", 1.4))
    content = render(make_transcription(*segments), "vtt", WriterOptions(max_words_per_line=2))
    assert read_vtt(content) == [
        ("00:01.000", "00:01.400", "a b"),
        ("00:01.000", "00:01.400", "c d"),
        ("00:01.400", "00:01.900", "later"),
    ]


def test_options_without_their_partner_warn() -> None:
    """B131, B133."""
    with pytest.warns(UserWarning, match="max_line_count=1 has no effect without max_line_width"):
        WriterOptions(max_line_count=1)
    with pytest.warns(UserWarning, match="max_words_per_line=3 does not keep lines from breaking sooner"):
        WriterOptions(max_words_per_line=3, max_line_width=20)
    with pytest.warns(UserWarning, match="max_words_per_line=3 has no effect with max_line_width=20"):
        WriterOptions(max_words_per_line=3, max_line_width=20, max_line_count=2)


@pytest.mark.parametrize("name", ["max_line_width", "max_line_count", "max_words_per_line"])
@pytest.mark.parametrize("value", [0, -1, 2.5, "3", True])
def test_limits_are_whole_numbers_above_zero(name: str, value: object) -> None:
    with pytest.raises(OptionError, match=name):
        WriterOptions(**{name: value})  # type: ignore[arg-type]


def test_without_word_times_they_are_estimated_from_the_segment() -> None:
    """B133: `max_line_width` works without word times."""
    segment = make_segment(2.0, 6.0, " aaaa bbbb cccc 日本")
    content = render(make_transcription(segment), "vtt", WriterOptions(max_line_width=10, max_line_count=1))
    assert read_vtt(content) == [("00:02.000", "00:04.000", "aaaa bbbb"), ("00:04.000", "00:06.000", "cccc 日本")]


HIGHLIGHTS = WriterOptions(highlight_words=True)


def test_each_word_is_underlined_while_it_is_spoken() -> None:
    words = (
        Word(word=" So,", start=0.0, end=0.4, probability=0.9),
        Word(word=" wait", start=1.0, end=1.5, probability=0.9),
    )
    content = render(make_transcription(make_segment(0, 1.5, " So, wait", words=words)), "srt", HIGHLIGHTS)
    assert read_srt(content) == [
        ("00:00:00,000", "00:00:00,400", "<u>So,</u> wait"),
        ("00:00:00,400", "00:00:01,000", "So, wait"),
        ("00:00:01,000", "00:00:01,500", "So, <u>wait</u>"),
    ]


def test_highlighted_text_is_escaped_like_any_other() -> None:
    """B124: the same in word mode."""
    words = tuple(
        Word(word=word, start=time, end=time + 1, probability=1.0)
        for time, word in enumerate([" a", " -->", " b &", " <i>AT&T</i>\n\n x"])
    )
    segment = make_segment(0, 4, "".join(word.word for word in words), words=words)
    content = render(make_transcription(segment), "vtt", HIGHLIGHTS)
    assert content.count("-->") == 4
    assert content.count("<u>") == content.count("</u>") == 4
    plain = re.sub("</?u>", "", content)
    assert [cue[2] for cue in read_vtt(plain)] == ["a --> b & <i>AT&T</i> x"] * 4
    srt = render(make_transcription(segment), "srt", HIGHLIGHTS)
    assert srt.count("-->") == 4


@pytest.mark.parametrize("text", ["مرحبا بكم في 2024 عام", "שלום לכולם ב 2024 שנה"])
def test_right_to_left_text_keeps_its_order(text: str) -> None:
    """B91: the markup wraps one word after the other."""
    marked = [cue[2] for cue in read_srt(render(make_transcription(spoken(text)), "srt", HIGHLIGHTS))]
    assert [re.sub("</?u>", "", cue) for cue in marked] == [text] * 5
    assert [cue.index("<u>") for cue in marked] == sorted(cue.index("<u>") for cue in marked)
    assert [re.findall("<u>(.*)</u>", cue) for cue in marked] == [[word] for word in text.split()]
    assert texts(spoken(text)) == [text]


TIMES = st.floats(0, 20)
WORDS = st.lists(
    st.builds(Word, word=st.sampled_from([" a", " -->", "b", " \n\nc ", " ", "", "日", " <b>", "&"]), start=TIMES,
              end=TIMES, probability=st.just(0.5)),
    max_size=6,
)  # fmt: skip
LIMITS = st.one_of(st.none(), st.integers(1, 12))


def a_word(start: float, end: float) -> Word:
    return Word(word=" a", start=start, end=end, probability=0.5)


@given(st.lists(WORDS, max_size=4), LIMITS, st.one_of(st.none(), st.integers(1, 3)), st.booleans())
@example([[a_word(0, 0)], [a_word(0, 0), a_word(1, 2)], [a_word(0, 0)]], None, None, False)
@example([[a_word(0, 2), a_word(3, 4)], [a_word(1, 2)]], None, None, False)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_words_give_good_cues_with_or_without_highlights(
    words: list[list[Word]], width: int | None, count: int | None, has_limit: bool
) -> None:
    """B130, B133: cues last, none starts before the one before it, and highlights change no text.

    Where cues are shown at the same time, those of their words stand in the order of time.
    """
    segments = [
        make_segment(place, place + 1, "".join(word.word for word in each), words=tuple(each))
        for place, each in enumerate(words)
    ]
    limits = {"max_line_width": width, "max_line_count": count, "max_words_per_line": 2 if has_limit else None}
    whole = make_transcription(*segments)
    content = render(whole, "vtt", WriterOptions(**limits))  # type: ignore[arg-type]
    cues = read_vtt(content)
    for start, end, _ in cues:
        assert to_ms(start) < to_ms(end)
    starts = [to_ms(start) for start, _, _ in cues]
    assert starts == sorted(starts)
    marked = render(whole, "vtt", WriterOptions(highlight_words=True, **limits))  # type: ignore[arg-type]
    begins = [to_ms(start) for start in re.findall(r"^(\S+) -->", marked, re.MULTILINE)]
    assert begins == sorted(begins)
    shown = [html.unescape(re.sub("</?u>", "", block.partition("\n")[2])) for block in marked.split("\n\n")[1:]]
    plain = [cue[2] for cue in cues]
    assert set(shown) - {""} == set(plain)
    if all(to_ms(end) <= start for (_, end, _), start in zip(cues, starts[1:], strict=False)):
        assert [text for text, _ in groupby(shown) if text] == [text for text, _ in groupby(plain)]
