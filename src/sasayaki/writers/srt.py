"""SubRip captions: numbered cues, hours always, a comma before the milliseconds."""

from __future__ import annotations

import re

from sasayaki.results import Transcription
from sasayaki.writers.cues import to_cues
from sasayaki.writers.times import format_milliseconds

_ARROW = re.compile("--+>")


def render(transcription: Transcription) -> str:
    """Cues from 1 on; an arrow in the text is shortened, as the format has no way to escape it."""
    return "".join(
        f"{number}\n{_time(cue.start_ms)} --> {_time(cue.end_ms)}\n{_ARROW.sub('->', cue.text)}\n\n"
        for number, cue in enumerate(to_cues(transcription), start=1)
    )


def _time(milliseconds: int) -> str:
    return format_milliseconds(milliseconds, always_hours=True, decimal_mark=",")
