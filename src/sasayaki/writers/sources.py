"""Which cues the options ask for."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.writers.captions import CaptionCues
from sasayaki.writers.cues import CueSource, SegmentCues
from sasayaki.writers.lines import WordLines


def cue_source(options: WriterOptions) -> CueSource:
    """A new source of cues: captions by rules, or lines of words, where an option asks for them, else segments."""
    if options.captions is not None:
        return CaptionCues(options)
    return WordLines(options) if options.divides_segments else SegmentCues()
