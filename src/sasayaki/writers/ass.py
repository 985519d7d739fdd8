"""Advanced SubStation Alpha: a line per cue whose words light up as they are spoken (karaoke)."""

from __future__ import annotations

from itertools import pairwise

from sasayaki.options import WriterOptions
from sasayaki.writers.composer import CueComposer
from sasayaki.writers.cues import Cue
from sasayaki.writers.sources import cue_source

_STYLE = {
    "Name": "Default", "Fontname": "Arial", "Fontsize": 52,
    "PrimaryColour": "&H00FFFFFF", "SecondaryColour": "&H00A0A0A0",
    "OutlineColour": "&H00000000", "BackColour": "&H80000000",
    "Bold": 0, "Italic": 0, "Underline": 0, "StrikeOut": 0, "ScaleX": 100, "ScaleY": 100, "Spacing": 0, "Angle": 0,
    "BorderStyle": 1, "Outline": 2, "Shadow": 1, "Alignment": 2, "MarginL": 60, "MarginR": 60, "MarginV": 48,
    "Encoding": 1,
}  # fmt: skip
"""White text at the bottom; words not yet spoken are grey, the secondary colour."""

_HEAD = f"""[Script Info]
ScriptType: v4.00+
PlayResX: 1280
PlayResY: 720
WrapStyle: 0
ScaledBorderAndShadow: yes

[V4+ Styles]
Format: {", ".join(_STYLE)}
Style: {",".join(map(str, _STYLE.values()))}

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""

_ESCAPES = str.maketrans({"{": "｛", "}": "｝", "\\": "＼", "\n": r"\N"})
r"""Braces and backslashes begin markup that cannot be escaped everywhere; their full-width forms are only text."""


def compose(options: WriterOptions) -> CueComposer:
    r"""A style and one line per cue; `{\k…}` before a word says how many hundredths of a second it takes."""
    return CueComposer(cue_source(options), _show, _HEAD)


def _show(cue: Cue) -> str:
    start = round(cue.start_ms / 10)
    end = max(start + 1, round(cue.end_ms / 10))
    text = _karaoke(cue, start, end) if cue.words else _escape(cue.text)
    return f"Dialogue: 0,{_time(start)},{_time(end)},Default,,0,0,0,,{text}\n"


def _karaoke(cue: Cue, start: int, end: int) -> str:
    """The words, each lit from its own start to that of the next."""
    starts = [min(max(start, round(word.start_ms / 10)), end) for word in cue.words]
    pieces = [f"{{\\k{starts[0] - start}}}"] if starts[0] > start else []
    for word, (begin, until) in zip(cue.words, pairwise([*starts, end]), strict=True):
        bare = word.text.lstrip()
        space = word.text[: len(word.text) - len(bare)]
        pieces.append(f"{_escape(space)}{{\\k{until - begin}}}{_escape(bare)}")
    return "".join(pieces)


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def _time(centiseconds: int) -> str:
    minutes, centiseconds = divmod(centiseconds, 6000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{centiseconds // 100:02d}.{centiseconds % 100:02d}"
