"""Which channel a segment was heard in, told in its text: `[1] Hello.`"""

from __future__ import annotations

from dataclasses import replace

from sasayaki.results import Segment


def with_channel(segment: Segment) -> Segment:
    """The segment with the number of its channel, from 1, before its text; as it is when channels were not split."""
    if segment.channel is None or not segment.text.strip():
        return segment
    label = f" [{segment.channel + 1}]"
    words = segment.words
    if words:
        words = (replace(words[0], text=f"{label} {words[0].text.lstrip()}"), *words[1:])
    return replace(segment, text=f"{label} {segment.text.lstrip()}", words=words)
