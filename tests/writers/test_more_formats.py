"""Lyrics, karaoke, words as rows, labels and paragraphs; independent readers find what was written."""

from __future__ import annotations

import csv
import html
import io
import re

import pysubs2
import pytest
import webvtt
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OptionError
from sasayaki.options import WriterOptions
from sasayaki.results import Transcription, Word
from sasayaki.writers import render
from tests.writers.transcriptions import make_segment, make_transcription, to_ms


def word(text: str, start: float, end: float, probability: float = 0.9) -> Word:
    return Word(word=text, start=start, end=end, probability=probability)


SPOKEN = make_segment(
    1.0, 3.0, ' "Well, {now}" a\\b', words=(word(' "Well,', 1.2, 1.7), word(' {now}"', 1.9, 2.5), word(" a\\b", 2.5, 3))
)
MUTE = make_segment(9.0, 11.0, " [0:01] and\n<1:2>", id=1)
BOTH = make_transcription(SPOKEN, MUTE)


def test_lrc_has_a_line_per_cue_and_clears_it_in_silence() -> None:
    assert render(BOTH, "lrc") == (
        '[00:01.20]"Well, {now}" a\\b\n[00:03.00]\n[00:09.00]［0:01] and ＜1:2>\n[00:11.00]\n'
    )


def test_lrc_gives_words_their_times_when_asked() -> None:
    content = render(make_transcription(SPOKEN), "lrc", WriterOptions(highlight_words=True))
    assert content == '[00:01.20]<00:01.20>"Well, <00:01.90>{now}" <00:02.50>a\\b <00:03.00>\n[00:03.00]\n'


def test_lrc_minutes_may_pass_99() -> None:
    assert render(make_transcription(make_segment(360000.001, 360001, " x")), "lrc").startswith("[6000:00.00]x\n")


def test_ass_lights_words_up_as_they_are_spoken() -> None:
    lines = [line for line in render(BOTH, "ass").splitlines() if line.startswith("Dialogue:")]
    assert lines == [
        'Dialogue: 0,0:00:01.20,0:00:03.00,Default,,0,0,0,,{\\k70}"Well, {\\k60}｛now｝" {\\k50}a＼b',
        r"Dialogue: 0,0:00:09.00,0:00:11.00,Default,,0,0,0,,[0:01] and\N<1:2>",
    ]


def test_ass_hours_may_pass_99() -> None:
    content = render(make_transcription(make_segment(360000.001, 360001, " x")), "ass")
    assert content.endswith("Dialogue: 0,100:00:00.00,100:00:01.00,Default,,0,0,0,,x\n")


def test_csv_has_a_row_per_word() -> None:
    rows = list(csv.reader(io.StringIO(render(BOTH, "csv"))))
    assert rows == [
        ["segment", "start", "end", "word", "probability"],
        ["0", "1.200", "1.700", '"Well,', "0.9000"],
        ["0", "1.900", "2.500", '{now}"', "0.9000"],
        ["0", "2.500", "3.000", "a\\b", "0.9000"],
        ["1", "9.000", "9.823", "[0:01]", ""],
        ["1", "9.823", "10.294", "and", ""],
        ["1", "10.294", "11.000", "<1:2>", ""],
    ]


def test_audacity_labels_are_segments_in_seconds() -> None:
    assert render(BOTH, "audacity") == (
        '1.000000\t3.000000\t"Well, {now}" a\\b\n9.000000\t11.000000\t[0:01] and <1:2>\n'
    )


def test_a_paragraph_ends_at_a_pause() -> None:
    segments = (make_segment(0, 1, " One."), make_segment(1, 2, " Two"), make_segment(4, 5, " three."))
    assert render(make_transcription(*segments), "paragraphs") == "One. Two\n\nthree.\n"
    assert render(make_transcription(*segments), "paragraphs", WriterOptions(paragraph_pause=2.5)) == (
        "One. Two three.\n"
    )
    with pytest.raises(OptionError, match="paragraph_pause"):
        WriterOptions(paragraph_pause=-1)


def test_a_paragraph_that_is_full_ends_with_its_sentence() -> None:
    long = " " + "word " * 150
    segments = [make_segment(place, place + 1, text) for place, text in enumerate([long, " and ends.”", " Next"])]
    assert render(make_transcription(*segments), "paragraphs").endswith("word and ends.”\n\nNext\n")


def test_segments_of_unspaced_scripts_are_joined_without_space() -> None:
    segments = (make_segment(0, 1, "今日は"), make_segment(1, 2, "いい天気。"), make_segment(2, 3, " OK"))
    assert render(make_transcription(*segments), "paragraphs") == "今日はいい天気。 OK\n"


HARD = [
    "a --> b",
    "AT&T &amp;",
    "<i>x</i>",
    "1 < 2",
    "line\n\nline",
    "cr\rlf\r\nx",
    "{\\b1}x",
    "\\Nx",
    "\u2028x",
    "مرحبا",
]
PIECES = st.lists(st.sampled_from([*HARD, "plain", "日本", "\t", " ", "NOTE", "STYLE", "1", "WEBVTT"]), max_size=4)


@st.composite
def transcriptions(draw: st.DrawFn) -> Transcription:
    segments = []
    start = draw(st.sampled_from([-1.0, 0.0, 5.5, 3599.9, 359999.5, 400000.0]))
    for place in range(draw(st.integers(0, 3))):
        text = " " + " ".join(draw(PIECES))
        words = tuple(word(f" {each}", start + n, start + n + 0.5) for n, each in enumerate(text.split(" ")) if each)
        end = start + draw(st.sampled_from([0.0, 1.0, 6.0]))
        segments.append(make_segment(start, end, text, id=place, words=words if draw(st.booleans()) else ()))
        start = max(end, words[-1].end if words else end)
    return make_transcription(*segments)


OPTIONS = [WriterOptions(), WriterOptions(max_line_width=9, max_line_count=2), WriterOptions(highlight_words=True)]


def squeezed(texts: list[str]) -> str:
    return re.sub(r"\s+", "", "".join(texts))


def assert_in_order(events: pysubs2.SSAFile) -> None:
    assert all(event.start < event.end for event in events)
    assert [event.start for event in events] == sorted(event.start for event in events)


@given(transcriptions(), st.sampled_from(OPTIONS[:2]))
def test_independent_readers_find_the_cues(whole: Transcription, options: WriterOptions) -> None:
    """B121, B124: arrows, markup, blank lines, carriage returns and hours above 99 break no file."""
    vtt = render(whole, "vtt", options)
    found = list(webvtt.from_string(vtt)) if "-->" in vtt else []
    n_cues = len(found)
    expected = squeezed([segment.text for segment in whole.segments])
    assert squeezed([html.unescape(cue.text) for cue in found]) == expected
    if whole.segments and whole.segments[0].start >= 359999:
        return  # the other reader knows two digits of hours
    srt = pysubs2.SSAFile.from_string(render(whole, "srt", options), "srt")
    assert len(srt) == n_cues
    assert_in_order(srt)
    for cue, event in zip(found, srt, strict=True):
        assert to_ms(cue.start) == event.start
    ass = pysubs2.SSAFile.from_string(render(whole, "ass", options), "ass")
    assert len(ass) == n_cues
    plain = expected.translate(str.maketrans({"{": "｛", "}": "｝", "\\": "＼"}))
    assert squeezed([event.plaintext for event in ass]) == plain
    assert_in_order(ass)


@given(transcriptions(), st.sampled_from(OPTIONS))
def test_no_text_breaks_rows_and_lines(whole: Transcription, options: WriterOptions) -> None:
    rows = list(csv.reader(io.StringIO(render(whole, "csv", options))))
    assert all(len(row) == 5 for row in rows)
    assert squeezed([row[3] for row in rows[1:]]) == squeezed([segment.text for segment in whole.segments])
    assert all(re.match(r"\[\d{2,}:\d\d\.\d\d\]", line) for line in render(whole, "lrc", options).splitlines())
    assert all(len(line.split("\t")) == 3 for line in render(whole, "audacity").splitlines())
    head, *lines = render(whole, "ass", options).split("Effect, Text\n")[1].split("Dialogue: 0,")
    assert head == ""
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
