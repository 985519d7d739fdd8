"""The channel that a segment was heard in, told in its text: `[1] Hello.` is of the first one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.composer import Composer

Compose = Callable[[WriterOptions], Composer]
"""Begins the content of one file."""


def labelled(compose: Compose) -> Compose:
    """The same format, with channels in the text: for those that have no field for them."""
    return lambda options: _Labelled(compose(options))


@dataclass(frozen=True, slots=True)
class _Labelled:
    inner: Composer

    def begin(self) -> str:
        return self.inner.begin()

    def add(self, segment: Segment) -> str:
        return self.inner.add(with_channel(segment))

    def end(self, transcription: Transcription) -> str:
        return self.inner.end(transcription)


def with_channel(segment: Segment) -> Segment:
    """The segment with the number of its channel, from 1, before its text; as it is when channels were not split."""
    if segment.channel is None or not segment.text.strip():
        return segment
    label = f" [{segment.channel + 1}]"
    words = segment.words
    if words:
        words = (replace(words[0], word=f"{label} {words[0].word.lstrip()}"), *words[1:])
    return replace(segment, text=f"{label} {segment.text.lstrip()}", words=words)
