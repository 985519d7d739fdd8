"""Captions keep to their rules, whatever the words, and say in docs/captions.md which rule yields when they cannot."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OptionError
from sasayaki.options import CAPTION_PRESETS, WriterOptions
from sasayaki.results import Segment, Word
from sasayaki.writers import render
from sasayaki.writers.captions import PRESETS, CaptionCues
from sasayaki.writers.captions.atoms import to_atoms
from sasayaki.writers.captions.rules import CaptionRules, rules_of
from sasayaki.writers.cues import Cue
from sasayaki.writers.width import columns
from sasayaki.writers.words import timed_words
from tests.writers.captions.speech import speak
from tests.writers.transcriptions import make_segment, make_transcription, read_srt


def captions(*segments: Segment, duration: float = 0.0, **options: object) -> list[Cue]:
    source = CaptionCues(WriterOptions(**{"captions": "netflix", **options}))  # type: ignore[arg-type]
    cues = [cue for segment in segments for cue in source.add(segment)]
    return cues + source.end(make_transcription(*segments, duration=duration))


TEXTS = ["a", "and", "the", "New", "York", "Dr.", "12", "million", "word.", "well,", "longer", "unbelievable", "x" * 30]
TEXTS += ["日本", "語。", "テ", "สวัส", "ดี", "مرحبا", "（", "\n", "two words", "🙂"]


@st.composite
def speeches(draw: st.DrawFn) -> list[Segment]:
    """Segments of random words at random times, spaces now and then missing."""
    segments, time = [], draw(st.sampled_from([0.0, 3599.0]))
    for number in range(draw(st.integers(1, 3))):
        words = []
        for _ in range(draw(st.integers(0, 8))):
            text = draw(st.sampled_from([" ", " ", ""])) + draw(st.sampled_from(TEXTS))
            time += draw(st.sampled_from([0.0, 0.0, 0.05, 0.4, 1.2, 3.0]))
            end = time + draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 9.0]))
            words.append(Word(word=text, start=time, end=end, probability=0.5))
            time = end - draw(st.sampled_from([0.0, 0.0, 0.2]))
        joined = "".join(word.word for word in words)
        segments.append(make_segment(words[0].start if words else time, time, joined, id=number, words=tuple(words)))
    return segments


LIMITS = st.fixed_dictionaries(
    {"captions": st.sampled_from(CAPTION_PRESETS)},
    optional={
        "max_line_width": st.integers(1, 30),
        "max_line_count": st.integers(1, 3),
        "reading_speed": st.sampled_from([5, 12.5, 30]),
        "min_cue_duration": st.sampled_from([0, 0.5, 1.5]),
        "max_cue_duration": st.sampled_from([1.5, 3.0]),
        "min_cue_gap": st.sampled_from([0, 0.1]),
    },
)


@given(speeches(), LIMITS)
def test_captions_obey_every_rule(segments: list[Segment], limits: dict[str, object]) -> None:
    rules = rules_of(WriterOptions(**limits), "en")  # type: ignore[arg-type]
    cues = captions(*segments, **limits)

    said = "".join(word.word for segment in segments for word in segment.words)
    assert squeezed("".join(cue.text for cue in cues)) == squeezed(said)
    for cue in cues:
        assert_lines_fit(cue, rules)
        assert "".join(word.text for word in cue.words) == cue.text
    for cue, following in zip_longest(cues, cues[1:]):
        assert_time_is_kept(cue, following, rules)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def assert_lines_fit(cue: Cue, rules: CaptionRules) -> None:
    lines = cue.text.split("\n")
    assert len(lines) <= rules.max_lines
    for line in lines:
        assert line == line.strip() != ""
        if columns(line) > rules.max_width:  # only what cannot be broken
            assert len(to_atoms(timed_words(make_segment(0, 1, "", words=(said(line),))))) == 1


def said(text: str) -> Word:
    return Word(word=text, start=0, end=1, probability=1)


def assert_time_is_kept(cue: Cue, following: Cue | None, rules: CaptionRules) -> None:
    lasts_ms = cue.end_ms - cue.start_ms
    assert rules.flash_ms <= lasts_ms <= rules.max_ms
    gap_ms = None if following is None else following.start_ms - cue.end_ms
    assert gap_ms is None or gap_ms >= rules.gap_ms
    is_cut = lasts_ms == rules.max_ms or gap_ms == rules.gap_ms
    if gap_ms is not None and gap_ms < rules.closed_gap_ms:
        assert is_cut
    if lasts_ms < rules.min_ms or columns(cue.text.replace("\n", "")) * 1000 > rules.reading_speed * lasts_ms + 1:
        assert is_cut  # it stays for as long as the next cue and the longest duration leave it


@given(speeches(), LIMITS)
def test_a_cue_appears_with_its_first_word_unless_the_one_before_is_still_shown(
    segments: list[Segment], limits: dict[str, object]
) -> None:
    rules = rules_of(WriterOptions(**limits), "en")  # type: ignore[arg-type]
    free_ms = 0
    for cue in captions(*segments, **limits):
        assert cue.start_ms == max(cue.words[0].start_ms, free_ms)
        free_ms = cue.end_ms + rules.gap_ms


EXAMPLE = speak(
    "And so my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
)


@pytest.mark.parametrize(
    ("preset", "texts"),
    [
        (
            "netflix",
            [
                "And so my fellow Americans,",
                "ask not what your country can do for you,\nask what you can do for your country.",
            ],
        ),
        (
            "bbc",
            [
                "And so my fellow Americans, ask\nnot what your country can do for you,",
                "ask what you can do for your country.",
            ],
        ),
        (
            "youtube",
            [
                "And so my fellow Americans,\nask not what your country",
                "can do for you, ask what\nyou can do for your country.",
            ],
        ),
    ],
)
def test_presets(preset: str, texts: list[str]) -> None:
    cues = captions(EXAMPLE, captions=preset)
    assert [cue.text for cue in cues] == texts
    assert all(len(line) <= PRESETS[preset].max_width for cue in cues for line in cue.text.split("\n"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("we met John Smith", "John Smith"),
        ("we met old Dr. Who", "Dr. Who"),
        ("it was J. R. Tolkien", "J. R. Tolkien"),
        ("they paid 12 million", "12 million"),
        ("it costs $ 40 now", "$ 40"),
        ("about twenty five people", "twenty five"),
        ("it was 30 km away", "30 km"),
        ("it was May 5, 2024 then", "May 5, 2024"),
    ],
)
def test_names_and_numbers_stay_on_one_line(text: str, kept: str) -> None:
    for width in range(len(kept), len(text) + 1):
        (cue,) = captions(speak(text, speed=30), max_line_width=width, max_line_count=4)
        assert any(kept in line for line in cue.text.split("\n")), (width, cue.text)


def test_small_words_are_no_names_and_shouting_is_none() -> None:
    assert captions(speak("But John"), max_line_width=5)[0].text == "But\nJohn"
    assert captions(speak("GO HOME NOW"), max_line_width=7)[0].text == "GO HOME\nNOW"


def test_lines_break_before_small_words_and_never_behind_them() -> None:
    (cue,) = captions(speak("he walked along the river with his friend", speed=20), max_line_width=30)
    assert cue.text == "he walked along the river\nwith his friend"


def test_lines_are_balanced() -> None:
    (cue,) = captions(speak("seven little turtles swam quickly north", speed=20), max_line_width=30)
    assert cue.text == "seven little turtles\nswam quickly north"


def test_a_text_that_fits_stays_on_one_line() -> None:
    (cue,) = captions(speak("It fits, and that is good."))
    assert "\n" not in cue.text


def test_a_silence_ends_a_cue_and_a_pause_is_a_good_place() -> None:
    assert [cue.text for cue in captions(speak("one two | | | three four"))] == ["one two", "three four"]
    text = "she opened the old door | nobody stood behind that door anymore"
    assert [cue.text for cue in captions(speak(text), max_line_width=40, max_line_count=1)] == [
        "she opened the old door",
        "nobody stood behind that door anymore",
    ]


def test_a_small_gap_is_closed_and_a_large_one_is_left() -> None:
    near = speak("One sentence is here."), speak("Another one follows now.", start=2.2)
    first, second = captions(*near, max_line_width=24, max_line_count=1)
    assert second.start_ms - first.end_ms == 84
    first, second = captions(speak("One sentence is here."), speak("Another one.", start=9))
    assert (first.start_ms, second.start_ms) == (0, 9000)
    assert first.end_ms < 3000


def test_a_short_word_is_shown_for_the_shortest_duration() -> None:
    (cue,) = captions(speak("Yes.", speed=50))
    assert (cue.start_ms, cue.end_ms) == (0, 834)


def test_a_long_word_is_cut_to_the_longest_duration() -> None:
    (cue,) = captions(make_segment(0, 20, " Om", words=(replace(said(" Om"), end=20),)))
    assert cue.end_ms == 7000


def test_the_last_cue_does_not_outlast_the_recording() -> None:
    (cue,) = captions(speak("Yes.", speed=50), duration=0.5)
    assert cue.end_ms == 500


def test_words_without_times_share_the_time_of_their_segment() -> None:
    cues = captions(
        make_segment(10, 14, " It was a quiet morning, and nobody in the house was awake yet."), max_line_count=1
    )
    assert [cue.text for cue in cues] == ["It was a quiet morning,", "and nobody in the house was awake yet."]
    assert cues[0].start_ms == 10_000
    assert cues[0].end_ms <= cues[1].start_ms - 84
    assert 10_000 < cues[1].start_ms < 14_000


def test_segments_are_joined_and_long_speech_runs_over_their_borders() -> None:
    whole = speak("and so my fellow Americans ask not")
    halves = [replace(whole, words=whole.words[:3]), replace(whole, words=whole.words[3:])]
    assert [cue.text for cue in captions(*halves)] == ["and so my fellow Americans ask not"]


@pytest.mark.parametrize("missing", [" ", ""])
def test_segments_that_begin_without_a_space_get_one_where_the_script_has_spaces(missing: str) -> None:
    first, second = (
        make_segment(0, 1, "one", words=(said("one"),)),
        make_segment(1, 2, "", words=(said(f"{missing}two"),)),
    )
    assert captions(first, second)[0].text == "one two"
    assert captions(make_segment(0, 1, "日本"), make_segment(1, 2, "語"))[0].text == "日本語"


def test_full_width_characters_count_as_two() -> None:
    text = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    for language, width in [("ja", 26), ("zh", 32), ("ko", 32), ("en", 42)]:
        cues = captions(make_segment(0, 12, text, language=language))
        assert squeezed("".join(cue.text for cue in cues)) == text
        longest = max(columns(line) for cue in cues for line in cue.text.split("\n"))
        assert width - 14 <= longest <= width


def test_japanese_lines_break_where_a_phrase_begins() -> None:
    (cue,) = captions(
        make_segment(0, 5, "中小企業の税金を引き下げることを決定しました。", language="ja"), max_line_width=32
    )
    assert cue.text == "中小企業の税金を\n引き下げることを決定しました。"


def test_unspaced_text_never_begins_a_line_with_a_closing_mark() -> None:
    text = "「そうです。」と彼は言った、コーヒーを飲みながら。"
    for width in range(4, 30):
        for cue in captions(make_segment(0, 8, text, language="ja"), max_line_width=width):
            for line in cue.text.split("\n"):
                assert line[0] not in "。」、ーョ", (width, line)
                assert line[-1] != "「"


@pytest.mark.parametrize(
    "text", ["مرحبا بكم في برنامجنا اليوم، سنتحدث عن المدينة.", "שלום לכולם, היום נדבר על העיר הישנה."]
)
def test_right_to_left_text_keeps_its_order_and_breaks_at_its_punctuation(text: str) -> None:
    """B91."""
    cues = captions(speak(text, language="ar"), max_line_width=30)
    assert re.sub(r"\s+", " ", " ".join(cue.text for cue in cues)) == text
    assert cues[0].text.split("\n")[0][-1] in "،,"


def test_marks_that_combine_take_no_room() -> None:
    assert columns("שָׁלוֹם") == 4
    assert columns("e\u0301") == 1
    assert columns("한국어") == columns("\u1112\u1161\u11ab국어") == 6
    assert columns("a\u200d\u200fb") == 2


@pytest.mark.parametrize("picture", ["👨\u200d👩\u200d👧", "👍🏽", "❤\ufe0f\u200d🔥", "🇩🇪", "👩🏾\u200d💻"])
@pytest.mark.parametrize("has_times", [True, False])
def test_a_picture_of_several_characters_is_one(picture: str, has_times: bool) -> None:
    """Its width is that of the first, and no line is broken inside it."""
    assert columns(picture) == columns("🙂") or picture.startswith("❤")
    text = f" {picture * 3}"
    words = tuple(Word(word=each, start=0, end=1, probability=1) for each in text[1:]) if has_times else ()
    (cue,) = captions(make_segment(0, 1, text, words=words), max_line_width=2, max_line_count=6)
    assert all(set(line.split(picture)) == {""} for line in cue.text.split("\n"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"captions": "cinema"}, "captions must be one of netflix, bbc, youtube, got 'cinema'"),
        ({"captions": "bbc", "max_words_per_line": 3}, "captions='bbc' and max_words_per_line=3 exclude each other"),
        ({"reading_speed": 15}, "reading_speed=15 needs captions"),
        ({"min_cue_gap": 0}, "min_cue_gap=0 needs captions"),
        ({"captions": "bbc", "reading_speed": 0}, "reading_speed must be above 0"),
        ({"captions": "bbc", "max_cue_duration": 0}, "max_cue_duration must be above 0"),
        ({"captions": "bbc", "min_cue_duration": -1}, "min_cue_duration must lie between 0 and 3600, got -1"),
        ({"captions": "bbc", "min_cue_duration": 3, "max_cue_duration": 2}, "min_cue_duration=3 is longer than"),
    ],
)
def test_rules_that_cannot_be_kept_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        WriterOptions(**options)  # type: ignore[arg-type]


def test_a_given_limit_moves_the_presets_own_that_clashes_with_it() -> None:
    assert rules_of(WriterOptions(captions="bbc", min_cue_duration=9), "en").max_ms == 9000
    assert rules_of(WriterOptions(captions="bbc", max_cue_duration=0.5), "en").min_ms == 500
    assert rules_of(WriterOptions(captions="netflix", min_cue_gap=0.8), "en").closed_gap_ms == 800


def test_captions_can_be_highlighted_and_sung() -> None:
    options = WriterOptions(captions="netflix", highlight_words=True)
    cues = read_srt(render(make_transcription(EXAMPLE, duration=0), "srt", options))
    assert len(cues) >= 22
    assert sum("<u>" in cue[2] for cue in cues) == 22
    assert render(make_transcription(EXAMPLE), "ass", WriterOptions(captions="netflix")).count("\\k") == 22
