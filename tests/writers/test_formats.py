"""What each format looks like, and that no text can break it."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OutputError
from sasayaki.results import Attempt, Transcription
from sasayaki.writers import FORMATS, render
from tests.writers.transcriptions import make_segment, make_transcription, read_srt, read_vtt, to_ms

TWO = make_transcription(make_segment(0.0, 2.3, " Hello there."), make_segment(2.3, 3661.5, " Für dich.", id=1))

# Any text, lone surrogates and control characters included, and pieces that formats have a meaning for.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.lists(
        st.sampled_from(
            ["-->", "--->", "->", "-", ">", "<i>", "&", "&amp;", "\n", "\n\n", "\r\n", "\r", "\t", " ", "\0", "a", "1",
             "\u2028", "\x85", "\x0b", "\u00a0", "00:00:01,000 --> 00:00:02,000", "NOTE", "WEBVTT", "\udcc3", "\udca9"]
        )
    ).map("".join),
)  # fmt: skip


def test_txt_has_a_line_per_segment() -> None:
    assert render(TWO, "txt") == "Hello there.\nFür dich.\n"


def test_srt_has_numbered_cues_with_hours() -> None:
    assert render(TWO, "srt") == (
        "1\n00:00:00,000 --> 00:00:02,300\nHello there.\n\n2\n00:00:02,300 --> 01:01:01,500\nFür dich.\n\n"
    )


def test_vtt_has_a_header_and_hours_where_there_are_some() -> None:
    assert render(TWO, "vtt") == (
        "WEBVTT\n\n00:00.000 --> 00:02.300\nHello there.\n\n00:02.300 --> 01:01:01.500\nFür dich.\n\n"
    )


def test_tsv_has_whole_milliseconds() -> None:
    assert render(TWO, "tsv") == "start\tend\ttext\n0\t2300\tHello there.\n2300\t3661500\tFür dich.\n"


def test_json_holds_all_fields_under_the_names_of_openai_whisper() -> None:
    content = json.loads(render(TWO, "json"))
    assert content["text"] == " Hello there. Für dich."
    assert content["language"] == "en"
    assert content["duration"] == 30.0
    assert content["options"]["beam_size"] == 5
    assert content["segments"][1] == {
        "id": 1,
        "seek": 0,
        "start": 2.3,
        "end": 3661.5,
        "text": " Für dich.",
        "tokens": [50364, 2425, 50414],
        "temperature": 0.0,
        "avg_logprob": -0.25,
        "compression_ratio": 1.1,
        "no_speech_prob": 0.01,
        "language": "en",
        "channel": None,
        "language_probability": None,
        "words": [],
        "speech": None,
        "recovered": False,
        "rejected": "",
        "attempts": [],
        "confidence": None,
        "token_probs": [],
        "word_scores": [],
        "alternatives": [],
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_json_numbers_are_finite_or_null(value: float) -> None:
    """B128: a logarithm of zero or a figure that was never set does not make the file unreadable."""
    attempt = Attempt(temperature=0.0, avg_logprob=value, compression_ratio=value, no_speech_prob=value, failed=("x",))
    segment = make_segment(0, 1, "", avg_logprob=value, no_speech_prob=value, attempts=(attempt,))
    transcription = make_transcription(segment, duration=value, language_probs={"en": value})

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    content = json.loads(render(transcription, "json"), parse_constant=refuse)
    assert content["segments"][0]["avg_logprob"] is None
    assert content["segments"][0]["attempts"][0]["no_speech_prob"] is None
    assert content["language_probs"] == {"en": None}
    assert content["duration"] is None


def test_vtt_escapes_what_looks_like_markup() -> None:
    """B124: an arrow or a tag in the text neither ends the cue nor vanishes."""
    text = "a --> b & <i>AT&T</i>\n\n<inaudible> ---> c"
    content = render(make_transcription(make_segment(0, 2, text)), "vtt")
    assert content.count("-->") == 1
    (cue,) = read_vtt(content)
    assert cue == ("00:00.000", "00:02.000", "a --> b & <i>AT&T</i>\n<inaudible> ---> c")


def test_srt_text_holds_no_arrow_and_no_blank_line() -> None:
    """B124: what SubRip cannot escape is written otherwise."""
    text = "a --> b & <i>AT&T</i>\n \r\n7\n00:00:01,000 ----> 00:00:02,000"
    content = render(make_transcription(make_segment(0, 2, text)), "srt")
    assert content.count("-->") == 1
    (cue,) = read_srt(content)
    assert cue[2] == "a -> b & <i>AT&T</i>\n7\n00:00:01,000 -> 00:00:02,000"


@given(st.lists(TEXTS, max_size=4))
def test_no_text_breaks_a_format(texts: list[str]) -> None:
    """B118, B124: one cue or line for each segment with text, whatever the text."""
    segments = [make_segment(start, start + 1, text) for start, text in enumerate(texts)]
    transcription = make_transcription(*segments)
    n_spoken = sum(bool(text.strip()) for text in texts)

    for output_format in FORMATS:
        assert isinstance(render(transcription, output_format), str)
    assert len(read_vtt(render(transcription, "vtt"))) == n_spoken
    assert len(read_srt(render(transcription, "srt"))) == n_spoken
    assert render(transcription, "srt").count("-->") == n_spoken
    header, *rows = render(transcription, "tsv").removesuffix("\n").split("\n")
    assert header == "start\tend\ttext"
    assert all(len(row.split("\t")) == 3 for row in rows)
    assert len(rows) == n_spoken
    assert [entry["text"] for entry in json.loads(render(transcription, "json"))["segments"]] == texts


TIMES = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), max_size=5)


@given(TIMES)
def test_every_cue_lasts(times: list[tuple[float, float]]) -> None:
    """No caption ends before or when it starts, and no text is lost for it."""
    transcription = make_transcription(*(make_segment(start, end, " word") for start, end in times))
    for cues in (read_vtt(render(transcription, "vtt")), read_srt(render(transcription, "srt"))):
        assert len(cues) == len(times)
        assert all(to_ms(start) < to_ms(end) for start, end, _ in cues)
    rows = [row.split("\t") for row in render(transcription, "tsv").splitlines()[1:]]
    assert all(int(start) < int(end) for start, end, _ in rows)


def test_a_cue_without_duration_is_shown_until_the_next_one_or_for_a_second() -> None:
    transcription = make_transcription(
        make_segment(1.0, 1.0, " a"), make_segment(1.4, 1.2, " b"), make_segment(5.0, 6.0, " c")
    )
    times = [(start, end) for start, end, _ in read_vtt(render(transcription, "vtt"))]
    assert times == [("00:01.000", "00:01.400"), ("00:01.400", "00:02.400"), ("00:05.000", "00:06.000")]


@pytest.mark.parametrize(
    ("output_format", "content"),
    [
        ("txt", ""),
        ("srt", ""),
        ("vtt", "WEBVTT\n\n"),
        ("tsv", "start\tend\ttext\n"),
        ("audacity", ""),
        ("lrc", ""),
        ("csv", "segment,start,end,word,probability\n"),
        ("paragraphs", ""),
    ],
)
@pytest.mark.parametrize("transcription", [make_transcription(), make_transcription(make_segment(0, 0, " "))])
def test_silence_gives_an_empty_file(transcription: Transcription, output_format: str, content: str) -> None:
    assert render(transcription, output_format) == content


def test_an_unknown_format_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(OutputError, match=r"txt, json, srt, vtt, tsv, .*got 'doc'"):
        render(TWO, "doc")
