"""WebVTT captions (https://www.w3.org/TR/webvtt1/): hours from the first hour on, text escaped."""

from __future__ import annotations

import html

from sasayaki.results import Transcription
from sasayaki.writers.cues import to_cues
from sasayaki.writers.times import format_milliseconds


def render(transcription: Transcription) -> str:
    """The header and the cues; `&`, `<` and `>` are escaped, so no text holds a tag or an arrow."""
    cues = (
        f"{_time(cue.start_ms)} --> {_time(cue.end_ms)}\n{html.escape(cue.text, quote=False)}\n\n"
        for cue in to_cues(transcription)
    )
    return "WEBVTT\n\n" + "".join(cues)


def _time(milliseconds: int) -> str:
    return format_milliseconds(milliseconds, always_hours=False, decimal_mark=".")
