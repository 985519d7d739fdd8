"""Tab-separated values: start and end in whole milliseconds, and the text."""

from __future__ import annotations

from sasayaki.results import Transcription
from sasayaki.writers.cues import to_cues, to_one_line


def render(transcription: Transcription) -> str:
    """A header and one line per cue; tabs and line breaks in the text become spaces."""
    rows = (f"{cue.start_ms}\t{cue.end_ms}\t{to_one_line(cue.text)}\n" for cue in to_cues(transcription))
    return "start\tend\ttext\n" + "".join(rows)
