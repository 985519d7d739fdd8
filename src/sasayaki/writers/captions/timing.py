"""How long a cue is shown."""

from __future__ import annotations

import math

from sasayaki.writers.captions.rules import CaptionRules


def shown_until(start_ms: int, speech_ms: int, width: int, next_ms: int | None, rules: CaptionRules) -> int:
    """When the cue ends, in milliseconds.

    It lasts as long as its speech, and longer where that is needed to reach the shortest duration or to be read. The
    longest duration and the gap before the next cue set an end to that. A gap that would be shorter than
    `closed_gap_ms` is closed down to `gap_ms`.

    Args:
        start_ms: when the cue starts.
        speech_ms: when its last word ends.
        width: columns of its text.
        next_ms: when the next cue starts; None for the last cue.
        rules: the limits.
    """
    read_ms = start_ms + math.ceil(width * 1000 / rules.reading_speed)
    end_ms = max(speech_ms, start_ms + rules.min_ms, read_ms)
    latest_ms = start_ms + rules.max_ms
    if next_ms is None:
        return min(end_ms, latest_ms)
    if next_ms - end_ms < rules.closed_gap_ms:
        end_ms = next_ms - rules.gap_ms
    return min(end_ms, latest_ms, next_ms - rules.gap_ms)
