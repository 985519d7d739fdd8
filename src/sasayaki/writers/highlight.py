"""A cue for each word in turn, with that word marked while it is spoken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sasayaki.results import Segment, Transcription
from sasayaki.writers.cues import Cue, CueSource
from sasayaki.writers.words import TimedWord


class Highlighted:
    """Splits the cues of another source at the times of their words.

    Between words, and behind the last one, the cue is shown unmarked. A word that lasts no time is never marked. What
    would start before something that was given out starts with it.

    Args:
        source: makes the cues.
        mark: a word's text, without the white space around it, as it looks while it is spoken.
        escape: any text as it has to stand in the file.
    """

    def __init__(self, source: CueSource, mark: Callable[[str], str], escape: Callable[[str], str]) -> None:
        self._source = source
        self._mark = mark
        self._escape = escape
        self._last_ms = 0

    def add(self, segment: Segment) -> list[Cue]:
        """What is final once this segment is known."""
        return [part for cue in self._source.add(segment) for part in self._parts(cue)]

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest."""
        return [part for cue in self._source.end(transcription) for part in self._parts(cue)]

    def waits_from(self) -> int | None:
        """Start of the first words that no cue has shown yet."""
        return self._source.waits_from()

    def _parts(self, cue: Cue) -> list[Cue]:
        start_ms = max(cue.start_ms, self._last_ms)
        parts = list(self._split(replace(cue, start_ms=start_ms, end_ms=max(cue.end_ms, start_ms + 1))))
        self._last_ms = parts[-1].start_ms
        return parts

    def _split(self, cue: Cue) -> Iterator[Cue]:
        plain = self._escape(cue.text)
        last_ms = cue.start_ms
        for index, word in enumerate(cue.words):
            start_ms, end_ms = max(word.start_ms, last_ms), min(word.end_ms, cue.end_ms)
            if end_ms <= start_ms:
                continue
            if start_ms > last_ms:
                yield Cue(last_ms, start_ms, plain)
            yield Cue(start_ms, end_ms, self._marked(cue.words, index))
            last_ms = end_ms
        if last_ms < cue.end_ms:
            yield Cue(last_ms, cue.end_ms, plain)

    def _marked(self, words: tuple[TimedWord, ...], index: int) -> str:
        before, word, after = words[:index], words[index].text, words[index + 1 :]
        space = word[: len(word) - len(word.lstrip())]
        marked = space + self._mark(self._escape(word.strip()))
        return "".join([*(self._escape(each.text) for each in before), marked, *(self._escape(w.text) for w in after)])
