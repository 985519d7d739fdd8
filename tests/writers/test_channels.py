"""Channels that were split, in files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sasayaki.options import WriterOptions
from sasayaki.results import Transcription, Word
from sasayaki.writers import FORMATS, parse_json, render
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
