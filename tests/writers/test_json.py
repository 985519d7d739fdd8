"""JSON holds everything and gives it back."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OutputError
from sasayaki.grammar import Grammar
from sasayaki.options import TranscribeOptions
from sasayaki.results import Alternative, Attempt, Segment, Slot, Transcription, Word, WordScore
from sasayaki.writers import parse_json, read_json, render, write
from tests.writers.transcriptions import make_segment, make_transcription

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=8)
WORDS = st.builds(Word, word=TEXTS, start=NUMBERS, end=NUMBERS, probability=NUMBERS)
SCORES = st.builds(
    WordScore, text=TEXTS, tokens=st.tuples(st.integers(0, 9)), logprob=NUMBERS, probability=st.just(0.5)
)
SLOTS = st.builds(
    Slot, text=TEXTS, alternatives=st.tuples(st.builds(Alternative, text=TEXTS, probability=st.just(0.5)))
)
ATTEMPTS = st.builds(
    Attempt,
    temperature=NUMBERS,
    avg_logprob=NUMBERS,
    compression_ratio=NUMBERS,
    no_speech_prob=NUMBERS,
    failed=st.tuples(TEXTS),
)
SEGMENTS = st.builds(
    make_segment,
    start=NUMBERS,
    end=NUMBERS,
    text=TEXTS,
    confidence=NUMBERS,
    words=st.lists(WORDS, max_size=2).map(tuple),
    word_scores=st.lists(SCORES, max_size=1).map(tuple),
    alternatives=st.lists(SLOTS, max_size=1).map(tuple),
    attempts=st.lists(ATTEMPTS, max_size=1).map(tuple),
    token_probs=st.lists(NUMBERS, max_size=2).map(tuple),
)
OPTIONS = [
    TranscribeOptions(),
    TranscribeOptions(
        temperature=(0.0, 0.5),
        phrases={"Kubernetes": 3.0},
        grammar=Grammar.regex("a|b"),
        languages=["de", "en"],
        suppress_tokens=[1, 2],
        initial_prompt=(5, 6),
        prefix="Well",
        clip_timestamps=[0, 1.5],
        beam_size=None,
    ),
]


@given(
    st.lists(SEGMENTS, max_size=3),
    st.sampled_from(OPTIONS),
    st.one_of(st.none(), st.dictionaries(st.sampled_from(["en", "de"]), NUMBERS)),
)
def test_a_transcription_comes_back_equal(segments: list[Segment], options: TranscribeOptions, probs: Any) -> None:
    whole = make_transcription(*segments, options=options, language_probs=probs)
    assert parse_json(render(whole, "json")) == whole


def test_a_file_comes_back_equal(tmp_path: Path) -> None:
    whole = make_transcription(make_segment(0, 1, " für 日本 \u2028", confidence=0.5))
    write(whole, tmp_path / "talk.json")
    assert read_json(tmp_path / "talk.json") == whole


def test_numbers_that_are_not_finite_come_back_as_nan_or_none() -> None:
    """B128: JSON has null for them."""
    whole = make_transcription(make_segment(0, 1, "", avg_logprob=-math.inf), duration=math.nan)
    back = parse_json(render(whole, "json"))
    assert math.isnan(back.segments[0].avg_logprob)
    assert math.isnan(back.segments[0].confidence)
    assert math.isnan(back.duration)
    assert back.language_probs is None


def test_each_segment_stands_on_a_line_of_its_own() -> None:
    content = render(make_transcription(make_segment(0, 1, " a\nb"), make_segment(1, 2, " c")), "json")
    head, *segments, tail = content.splitlines()
    assert head == '{"schema_version": 1, "segments": ['
    assert [json.loads(line.removesuffix(","))["text"] for line in segments] == [" a\nb", " c"]
    assert tail.startswith('], "text": ')


def plain(**changes: Any) -> str:
    content = json.loads(render(make_transcription(make_segment(0, 1, " a")), "json"))
    return json.dumps({**content, **changes})


def test_fields_of_later_versions_are_left_out_and_missing_ones_have_their_defaults() -> None:
    segment = {**json.loads(plain())["segments"][0], "mood": "glad"}
    del segment["words"]
    back = parse_json(plain(weather="fine", segments=[segment]))
    assert back.segments[0].words == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected the JSON of a transcription"),
        ("[]", "expected the JSON object of a transcription, got list"),
        ("{}", "text is missing"),
        (plain(schema_version=2), "schema_version up to 1, got 2"),
        (plain(segments=[{}]), r"segments\[0\].id is missing"),
        (plain(segments={}), "segments must be .*got {}"),
        (plain(text=3), "text must be .*got 3"),
        (plain(duration="long"), "duration must be .*got 'long'"),
        (plain(options={"beam_size": 0}), "options holds an option that cannot be used: beam_size must be"),
    ],
)
def test_what_is_no_transcription_is_an_error_that_says_where(content: str, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        parse_json(content)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot read .*none\.json"):
        read_json(tmp_path / "none.json")


def test_nothing_but_segments_is_needed() -> None:
    assert parse_json('{"text": "", "segments": [], "language": "en"}') == Transcription(
        text="", segments=(), language="en"
    )


@pytest.mark.parametrize("kind", [Transcription, Segment, Word, Attempt, WordScore, Slot, Alternative])
def test_every_field_is_documented(kind: type) -> None:
    """A field that is added to results belongs into the table of docs/formats.md."""
    table = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8").partition("## JSON")[2]
    assert [each.name for each in dataclasses.fields(kind) if f"`{each.name}`" not in table] == []
