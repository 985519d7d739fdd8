"""SubRip captions: numbered cues, hours always, a comma before the milliseconds."""

from __future__ import annotations

import re
from itertools import count

from sasayaki.options import WriterOptions
from sasayaki.writers.composer import CueComposer
from sasayaki.writers.cues import Cue, CueSource
from sasayaki.writers.highlight import Highlighted
from sasayaki.writers.sources import cue_source
from sasayaki.writers.times import format_milliseconds

_ARROW = re.compile("--+>")


def compose(options: WriterOptions) -> CueComposer:
    """Cues from 1 on; an arrow in the text is shortened, as the format has no way to escape it."""
    source = cue_source(options, _underlined if options.highlight_words else None)
    numbers = count(1)

    def show(cue: Cue) -> str:
        text = _ARROW.sub("->", cue.text)
        return f"{next(numbers)}\n{_time(cue.start_ms)} --> {_time(cue.end_ms)}\n{text}\n\n"

    return CueComposer(source, show)


def _underlined(source: CueSource) -> CueSource:
    return Highlighted(source, mark="<u>{}</u>".format, escape=str)


def _time(milliseconds: int) -> str:
    return format_milliseconds(milliseconds, always_hours=True, decimal_mark=",")
