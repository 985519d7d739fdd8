"""Comma-separated values: a row per word with its times (RFC 4180, but for lines that end with a line feed alone)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence

from sasayaki.options import WriterOptions
from sasayaki.results import Segment
from sasayaki.writers.composer import SegmentComposer
from sasayaki.writers.words import TimedWord, timed_words


def compose(options: WriterOptions) -> SegmentComposer:
    """A header and one row per word; where times are estimated from the segment, `probability` is empty."""
    return SegmentComposer(_show, _row(["segment", "start", "end", "word", "probability"]))


def _show(segment: Segment) -> str:
    return "".join(
        _row([segment.id, _seconds(word.start_ms), _seconds(word.end_ms), word.text.strip(), _probability(word)])
        for word in timed_words(segment)
    )


def _row(cells: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds // 1000}.{milliseconds % 1000:03d}"


def _probability(word: TimedWord) -> str:
    return "" if word.probability is None or math.isnan(word.probability) else f"{word.probability:.4f}"
