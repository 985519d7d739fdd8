"""Labels for Audacity (its manual, "Importing and Exporting Labels"): start and end in seconds, and the text."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.writers.composer import CueComposer
from sasayaki.writers.cues import Cue, SegmentCues, to_one_line


def compose(options: WriterOptions) -> CueComposer:
    """One label per segment; tabs and line breaks in the text become spaces."""
    return CueComposer(SegmentCues(has_words=False), _show)


def _show(cue: Cue) -> str:
    # A line that starts with a backslash would be read as the frequencies of the label before; ours start with times.
    return f"{cue.start_ms / 1000:.6f}\t{cue.end_ms / 1000:.6f}\t{to_one_line(cue.text)}\n"
