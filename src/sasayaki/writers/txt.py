"""Plain text: one line per segment."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.results import Segment
from sasayaki.writers.composer import SegmentComposer
from sasayaki.writers.cues import to_one_line


def compose(options: WriterOptions) -> SegmentComposer:
    """Each segment's text on a line of its own."""
    return SegmentComposer(_show)


def _show(segment: Segment) -> str:
    line = to_one_line(segment.text)
    return f"{line}\n" if line else ""
