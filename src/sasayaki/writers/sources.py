"""Which cues the options ask for."""

from __future__ import annotations

from collections.abc import Callable

from sasayaki.options import WriterOptions
from sasayaki.writers.captions import CaptionCues
from sasayaki.writers.cues import CueSource, SegmentCues
from sasayaki.writers.lines import WordLines
from sasayaki.writers.side_by_side import SideBySide


def cue_source(options: WriterOptions, dressed: Callable[[CueSource], CueSource] | None = None) -> CueSource:
    """A new source of cues: captions by rules, or lines of words, where an option asks for them, else segments.

    Args:
        options: what is asked for.
        dressed: wraps the source of each channel.
    """

    def make() -> CueSource:
        source = _plain_source(options)
        return dressed(source) if dressed else source

    return SideBySide(make)


def _plain_source(options: WriterOptions) -> CueSource:
    if options.captions is not None:
        return CaptionCues(options)
    return WordLines(options) if options.divides_segments else SegmentCues()
