"""Cues that keep to caption rules, from segments as they come."""

from __future__ import annotations

import math
from dataclasses import replace

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.captions.atoms import Atom, to_atoms
from sasayaki.writers.captions.divider import Divider, Span
from sasayaki.writers.captions.grammar import small_words
from sasayaki.writers.captions.rules import CaptionRules, rules_of
from sasayaki.writers.captions.timing import shown_until
from sasayaki.writers.cues import Cue
from sasayaki.writers.times import to_milliseconds
from sasayaki.writers.words import TimedWord, timed_words


class CaptionCues:
    """Cues under the rules of `options.captions`; the first segment's language chooses among them."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._rules: CaptionRules | None = None
        self._divider: Divider | None = None
        self._last_character = ""
        self._last_ms = 0
        self._free_ms = 0

    def add(self, segment: Segment) -> list[Cue]:
        """Cues that are final once this segment is known."""
        if self._rules is None or self._divider is None:
            self._rules = rules_of(self._options, segment.language)
            self._divider = Divider(self._rules)
        atoms = to_atoms(self._in_order(timed_words(segment)), self._last_character)
        if atoms:
            self._last_character = atoms[-1].text[-1]
        spans = self._divider.add(atoms, small_words(segment.language))
        return [self._cue(span, self._rules) for span in spans]

    def end(self, transcription: Transcription) -> list[Cue]:
        """The rest; the last cue does not outlast the recording, where its length is known."""
        if self._rules is None or self._divider is None:
            return []
        cues = [self._cue(span, self._rules) for span in self._divider.end()]
        if cues and math.isfinite(transcription.duration) and transcription.duration > 0:
            last = cues[-1]
            over_ms = max(
                to_milliseconds(transcription.duration), last.words[-1].end_ms, last.start_ms + self._rules.flash_ms
            )
            cues[-1] = replace(last, end_ms=min(last.end_ms, over_ms))
        return cues

    def waits_from(self) -> int | None:
        """Start of the first word that no cue has shown yet."""
        return self._divider.waits_from() if self._divider else None

    def _in_order(self, words: list[TimedWord]) -> list[TimedWord]:
        """The words, none before the segment before it ends."""
        ordered = [
            replace(word, start_ms=max(word.start_ms, self._last_ms), end_ms=max(word.end_ms, self._last_ms))
            for word in words
        ]
        if ordered:
            self._last_ms = ordered[-1].end_ms
        return ordered

    def _cue(self, span: Span, rules: CaptionRules) -> Cue:
        """The cue with its times; late where the one before has not left the screen."""
        words = tuple(_words(span.lines))
        start_ms = max(words[0].start_ms, self._free_ms)
        text = "".join(word.text for word in words)
        width = sum(atom.width + atom.is_spaced for line in span.lines for atom in line) - span.lines[0][0].is_spaced
        end_ms = shown_until(start_ms, words[-1].end_ms, width, span.next_ms, rules)
        end_ms = max(end_ms, start_ms + rules.flash_ms)
        self._free_ms = end_ms + rules.gap_ms
        return Cue(start_ms, end_ms, text, words)


def _words(lines: tuple[tuple[Atom, ...], ...]) -> list[TimedWord]:
    """The words of all lines; a line break or a space stands before the first word of an atom where one belongs."""
    words: list[TimedWord] = []
    for line in lines:
        for atom in line:
            space = " " if atom.is_spaced else ""
            before = "" if not words else ("\n" if atom is line[0] else space)
            first, *others = atom.words
            words += [first.with_text(before + first.text), *others]
    return words
