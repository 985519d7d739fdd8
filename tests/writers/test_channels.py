"""Channels that were split, in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.options import CAPTION_PRESETS, WriterOptions
from sasayaki.results import Segment, Transcription, Word
from sasayaki.writers import FORMATS, parse_json, render
from sasayaki.writers.captions.rules import rules_of
from sasayaki.writers.cues import Cue
from sasayaki.writers.sources import cue_source
from tests.cli.fake_model import segment

WORDS = tuple(
    Word(word=word, start=start, end=start + 0.5, probability=0.9)
    for start, word in ((2.0, " How"), (2.5, " are"), (3.0, " you?"))
)
SEGMENTS = (
    segment(0.0, 2.0, " Hello.", channel=0),
    segment(2.0, 3.5, " How are you?", channel=1, words=WORDS),
)


def transcription(*, has_channels: bool = True) -> Transcription:
    segments = SEGMENTS if has_channels else tuple(replace(each, channel=None) for each in SEGMENTS)
    return Transcription(text="", segments=segments, language="en")


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"json", "csv"}))
def test_the_channel_stands_before_the_text(name: str) -> None:
    content = render(transcription(), name)
    assert content.count("[1]") == content.count("[2]") == 1
    assert "[1]" not in render(transcription(has_channels=False), name)


def test_captions_of_words_have_it_too() -> None:
    content = render(transcription(), "srt", WriterOptions(highlight_words=True))
    assert "[2] " in content


@pytest.mark.parametrize("name", ["json", "csv"])
def test_files_for_programs_have_no_label_in_the_text(name: str) -> None:
    assert "[1]" not in render(transcription(), name)
    if name == "json":
        read = parse_json(render(transcription(), name))
        assert [(each.text, each.channel) for each in read.segments] == [(" Hello.", 0), (" How are you?", 1)]


def spoken(start: float, texts: list[str], channel: int, *, seconds: float = 0.5, pause: float = 0.0) -> Segment:
    """A segment of words one after the other."""
    begins = [start + place * (seconds + pause) for place in range(len(texts))]
    words = tuple(
        Word(word=f" {text}", start=begin, end=begin + seconds, probability=0.9)
        for text, begin in zip(texts, begins, strict=True)
    )
    joined = "".join(word.word for word in words)
    return segment(words[0].start, words[-1].end, joined, channel=channel, words=words)


LONG = ["so", "we", "went", "down", "to", "the", "river", "and", "looked", "for", "the", "boat", "he", "had", "told"]
OVERLAPPING = (spoken(0.0, LONG, 0), spoken(2.0, ["Yes,", "exactly."], 1), spoken(12.0, ["And", "then?"], 1))
WAYS = [
    WriterOptions(),
    WriterOptions(captions="netflix"),
    WriterOptions(captions="bbc", min_cue_gap=0.2),
    WriterOptions(max_line_width=20, max_line_count=2),
    WriterOptions(max_words_per_line=4),
    WriterOptions(highlight_words=True),
]


def shown(segments: Sequence[Segment], options: WriterOptions) -> list[Cue]:
    """The cues of a caption file."""
    source = cue_source(options)
    cues = [cue for each in segments for cue in source.add(each)]
    return cues + source.end(Transcription(text="", segments=tuple(segments), language="en", duration=20.0))


@pytest.mark.parametrize("options", WAYS)
def test_who_interrupts_is_shown_at_once(options: WriterOptions) -> None:
    """Words of the second channel waited until the first one's segment was over, and all came at once."""
    cues = shown(OVERLAPPING, options)
    assert next(cue for cue in cues if "Yes" in cue.text).start_ms == 2000
    assert [cue.start_ms for cue in cues] == sorted(cue.start_ms for cue in cues)
    assert all(cue.end_ms > cue.start_ms for cue in cues)


@pytest.mark.parametrize("preset", CAPTION_PRESETS)
@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_rules_hold_for_each_channel(preset: str, seed: int) -> None:
    draw = Random(seed)
    ends = [0.0, 0.0]
    segments = []
    for _ in range(6):
        channel = draw.randrange(2)
        texts = [f"{'ab'[channel]}{'x' * draw.randrange(9)}" for _ in range(draw.randrange(1, 12))]
        segments.append(spoken(ends[channel] + draw.random() * 2, texts, channel, seconds=0.1 + draw.random() / 2))
        ends[channel] = segments[-1].end
    segments.sort(key=lambda each: each.start)
    options = WriterOptions(captions=preset)
    rules = rules_of(options, "en")
    cues = shown(segments, options)
    assert [cue.start_ms for cue in cues] == sorted(cue.start_ms for cue in cues)
    for channel, letter in enumerate("ab"):
        own = [cue for cue in cues if cue.text.startswith(letter)]
        alone = shown([each for each in segments if each.channel == channel], options)
        assert [(cue.start_ms, cue.text) for cue in own] == [(cue.start_ms, cue.text) for cue in alone]
        assert all(a.end_ms + rules.gap_ms <= b.start_ms for a, b in pairwise(own))


def test_cues_of_channels_are_written_as_they_become_final() -> None:
    source = cue_source(WriterOptions())
    given_out = [len(source.add(each)) for each in OVERLAPPING]
    assert given_out == [1, 1, 1]
    source = cue_source(WriterOptions(captions="netflix"))
    assert sum(len(source.add(spoken(number * 4.0, LONG[:4], number % 2))) for number in range(40)) > 30
