"""Lyrics with times (LRC): a line per cue, and an empty line where nothing is said for a while."""

from __future__ import annotations

import re

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import Cue, to_one_line
from sasayaki.writers.sources import cue_source

_SILENCE_MS = 2000
"""A line is cleared where the next one starts this much later than it ends."""

_TAG = re.compile(r"[\[<](?=\s*\d+:\d)")


def compose(options: WriterOptions) -> _LrcComposer:
    """One line per cue; with `highlight_words`, the time of each word stands before it in angle brackets."""
    return _LrcComposer(options)


class _LrcComposer:
    def __init__(self, options: WriterOptions) -> None:
        self._source = cue_source(options)
        self._has_words = options.highlight_words
        self._last_end_ms: int | None = None

    def begin(self) -> str:
        """What stands before the first segment."""
        return ""

    def add(self, segment: Segment) -> str:
        """What is final once this segment is known."""
        return "".join(map(self._show, self._source.add(segment)))

    def end(self, transcription: Transcription) -> str:
        """The rest."""
        lines = "".join(map(self._show, self._source.end(transcription)))
        return lines if self._last_end_ms is None else f"{lines}[{_time(self._last_end_ms)}]\n"

    def _show(self, cue: Cue) -> str:
        last_end_ms = self._last_end_ms
        self._last_end_ms = cue.end_ms if last_end_ms is None else max(last_end_ms, cue.end_ms)
        is_far = last_end_ms is not None and cue.start_ms - last_end_ms >= _SILENCE_MS
        clear = f"[{_time(last_end_ms)}]\n" if is_far and last_end_ms is not None else ""
        return f"{clear}[{_time(cue.start_ms)}]{self._text(cue)}\n"

    def _text(self, cue: Cue) -> str:
        if not (self._has_words and cue.words):
            return _escape(to_one_line(cue.text))
        words = [f"<{_time(word.start_ms)}>{_escape(to_one_line(word.text))}" for word in cue.words]
        return " ".join(words) + f" <{_time(cue.words[-1].end_ms)}>"


def _escape(text: str) -> str:
    """What looks like a time tag gets full-width brackets, as the format has no way to escape it."""
    return _TAG.sub(lambda match: "［" if match[0] == "[" else "＜", text)


def _time(milliseconds: int) -> str:
    minutes, centiseconds = divmod(round(milliseconds / 10), 6000)
    return f"{minutes:02d}:{centiseconds // 100:02d}.{centiseconds % 100:02d}"
