"""Plain text in paragraphs: segments joined, with an empty line where the speaker pauses or much has been said."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import to_one_line
from sasayaki.writers.width import columns, is_wide

_FULL = 700
"""Columns after which a paragraph ends with the next sentence, pause or not."""

_SENTENCE_ENDS = tuple(".?!…。？！؟۔।॥")
_CLOSERS = "\"'”’»)]）」』"


def compose(options: WriterOptions) -> _ParagraphComposer:
    """A paragraph ends at a pause of `paragraph_pause` seconds, or with the sentence that fills it."""
    return _ParagraphComposer(options.paragraph_pause)


class _ParagraphComposer:
    def __init__(self, pause: float) -> None:
        self._pause = pause
        self._end = 0.0
        self._last = ""
        self._room = _FULL

    def begin(self) -> str:
        """What stands before the first segment."""
        return ""

    def add(self, segment: Segment) -> str:
        """What is final once this segment is known."""
        text = to_one_line(segment.text)
        if not text:
            return ""
        gap = self._gap(segment, text)
        self._room = (_FULL if gap == "\n\n" else self._room) - columns(text)
        self._end, self._last = segment.end, text
        return gap + text

    def end(self, transcription: Transcription) -> str:
        """The rest."""
        return "\n" if self._last else ""

    def _gap(self, segment: Segment, text: str) -> str:
        """What stands between the text so far and this one."""
        if not self._last:
            return ""
        is_full = self._room <= 0 and self._last.rstrip(_CLOSERS).endswith(_SENTENCE_ENDS)
        if is_full or segment.start - self._end >= self._pause:
            return "\n\n"
        has_space = segment.text[:1].isspace() or not (is_wide(self._last[-1]) or is_wide(text[0]))
        return " " if has_space else ""
