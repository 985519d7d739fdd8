"""Plain text: one line per segment."""

from __future__ import annotations

from sasayaki.results import Transcription
from sasayaki.writers.cues import to_one_line


def render(transcription: Transcription) -> str:
    """Each segment's text on a line of its own."""
    lines = (to_one_line(segment.text) for segment in transcription.segments)
    return "".join(f"{line}\n" for line in lines if line)
