"""Lines and cues of words as openai/whisper breaks them: by width, by count, and at pauses of three seconds."""

from __future__ import annotations

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import Cue, CueClock, cue_of_words
from sasayaki.writers.words import TimedWord, timed_words

_NO_LIMIT = 1000
_PAUSE_MS = 3000
"""Where cues may join segments, a word that starts this much later than the one before begins a new cue."""


class WordLines:
    """Cues of words under `max_line_width`, `max_line_count` and `max_words_per_line`.

    With both width and count, cues run over the borders of segments; otherwise each segment, and each
    `max_words_per_line` words of it, is a cue.
    """

    def __init__(self, options: WriterOptions) -> None:
        self._width = options.max_line_width or _NO_LIMIT
        self._count = options.max_line_count
        self._n_words = options.max_words_per_line or _NO_LIMIT
        self._joins_segments = options.max_line_width is not None and options.max_line_count is not None
        self._clock = CueClock()
        self._cue: list[TimedWord] = []
        self._line_length = 0
        self._n_lines = 1
        self._last_ms: int | None = None

    def add(self, segment: Segment) -> list[Cue]:
        """What is final once this segment is known."""
        words = timed_words(segment)
        if self._joins_segments:
            return [cue for word in words for cue in self._place(word)]
        cues = []
        for first in range(0, len(words), self._n_words):
            for word in words[first : first + self._n_words]:
                cues += self._place(word)
            cues += self._close()
        return cues

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest."""
        return [*self._close(), *self._clock.end()]

    def waits_from(self) -> int | None:
        """Start of the first word that no cue has shown yet."""
        held = self._clock.waits_from()
        return self._cue[0].start_ms if held is None and self._cue else held

    def _place(self, word: TimedWord) -> list[Cue]:
        """Put the word on the line, on the next one, or into the next cue."""
        last_ms = word.start_ms if self._last_ms is None else self._last_ms
        is_late = self._joins_segments and word.start_ms - last_ms > _PAUSE_MS
        self._last_ms = word.start_ms
        if self._line_length and not is_late and self._line_length + len(word.text) <= self._width:
            self._line_length += len(word.text)
            self._cue.append(word)
            return []
        is_full = self._count is not None and (is_late or self._n_lines >= self._count)
        done = self._close() if self._cue and is_full else []
        text = word.text.strip()
        self._line_length = len(text)
        if self._cue:
            self._n_lines += 1
            text = "\n" + text
        self._cue.append(word.with_text(text))
        return done

    def _close(self) -> list[Cue]:
        words, self._cue = self._cue, []
        self._line_length, self._n_lines = 0, 1
        return self._clock.add(cue_of_words(words)) if words else []
