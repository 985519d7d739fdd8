"""WebVTT captions (https://www.w3.org/TR/webvtt1/): hours from the first hour on, text escaped."""

from __future__ import annotations

import html

from sasayaki.options import WriterOptions
from sasayaki.writers.composer import CueComposer
from sasayaki.writers.cues import Cue, CueSource
from sasayaki.writers.highlight import Highlighted
from sasayaki.writers.sources import cue_source
from sasayaki.writers.times import format_milliseconds


def compose(options: WriterOptions) -> CueComposer:
    """The header and the cues; `&`, `<` and `>` are escaped, so no text holds a tag or an arrow."""
    if options.highlight_words:
        marked = cue_source(options, _underlined)
        return CueComposer(marked, lambda cue: _show(cue, cue.text), "WEBVTT\n\n")
    return CueComposer(cue_source(options), lambda cue: _show(cue, _escape(cue.text)), "WEBVTT\n\n")


def _show(cue: Cue, text: str) -> str:
    return f"{_time(cue.start_ms)} --> {_time(cue.end_ms)}\n{text}\n\n"


def _underlined(source: CueSource) -> CueSource:
    return Highlighted(source, mark="<u>{}</u>".format, escape=_escape)


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _time(milliseconds: int) -> str:
    return format_milliseconds(milliseconds, always_hours=False, decimal_mark=".")
