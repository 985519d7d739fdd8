"""Transcriptions for writer tests, and readers of caption files that forgive nothing."""

from __future__ import annotations

import html
import re
from typing import Any

from sasayaki.results import Segment, Transcription

_VTT_TIME = r"((?:\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3})"
_SRT_TIME = r"(\d{2,}:[0-5]\d:[0-5]\d,\d{3})"


def make_segment(start: float, end: float, text: str, **changes: Any) -> Segment:
    figures: dict[str, Any] = {
        "id": 0,
        "seek": 0,
        "tokens": (50364, 2425, 50414),
        "temperature": 0.0,
        "avg_logprob": -0.25,
        "compression_ratio": 1.1,
        "no_speech_prob": 0.01,
        "language": "en",
    }
    return Segment(start=start, end=end, text=text, **{**figures, **changes})


def make_transcription(*segments: Segment, **changes: Any) -> Transcription:
    text = "".join(segment.text for segment in segments)
    return Transcription(**{"text": text, "segments": segments, "language": "en", "duration": 30.0, **changes})


def read_vtt(content: str) -> list[tuple[str, str, str]]:
    """Start, end and unescaped text of each cue."""
    head, *blocks = content.removesuffix("\n\n").split("\n\n")
    assert head == "WEBVTT"
    cues = []
    for block in filter(None, blocks):
        times, *lines = block.split("\n")
        match = re.fullmatch(f"{_VTT_TIME} --> {_VTT_TIME}", times)
        assert match, times
        assert lines
        assert not re.search("<|-->|&(?!amp;|lt;|gt;)", "\n".join(lines))
        cues.append((match[1], match[2], html.unescape("\n".join(lines))))
    return cues


def read_srt(content: str) -> list[tuple[str, str, str]]:
    """Start, end and text of each cue."""
    cues = []
    for number, block in enumerate(filter(None, content.removesuffix("\n\n").split("\n\n")), start=1):
        count, times, *lines = block.split("\n")
        match = re.fullmatch(f"{_SRT_TIME} --> {_SRT_TIME}", times)
        assert match, times
        assert count == str(number)
        assert lines
        cues.append((match[1], match[2], "\n".join(lines)))
    return cues


def to_ms(time: str) -> int:
    """Milliseconds of `HH:MM:SS.mmm` or `MM:SS,mmm`."""
    *clock, milliseconds = re.split("[:.,]", time)
    seconds = 0
    for part in clock:
        seconds = seconds * 60 + int(part)
    return seconds * 1000 + int(milliseconds)
