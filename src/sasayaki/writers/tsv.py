"""Tab-separated values: start and end in whole milliseconds, and the text."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.writers.composer import CueComposer
from sasayaki.writers.cues import Cue, SegmentCues, to_one_line


def compose(options: WriterOptions) -> CueComposer:
    """A header and one line per segment; tabs and line breaks in the text become spaces."""
    return CueComposer(SegmentCues(has_words=False), _show, "start\tend\ttext\n")


def _show(cue: Cue) -> str:
    return f"{cue.start_ms}\t{cue.end_ms}\t{to_one_line(cue.text)}\n"
