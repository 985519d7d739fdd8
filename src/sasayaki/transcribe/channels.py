"""Joins the transcriptions of the channels of one recording by time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.results import Segment
from sasayaki.transcribe.requests import WindowResult, Windows


def label_channel(windows: Windows, channel: int) -> Windows:
    """The windows with their segments marked as those of a channel."""
    with closing(windows):
        for window in windows:
            segments, rejected = (
                tuple(replace(segment, channel=channel) for segment in some)
                for some in (window.segments, window.rejected)
            )
            yield replace(window, segments=segments, rejected=rejected, channel=channel)


def merge_channels(channels: Sequence[Windows]) -> Windows:
    """The windows of all channels, with the segments in the order of their starts and numbered anew.

    The channel that is furthest behind goes on, so that a segment is given as soon as no channel can have an earlier
    one; `done` is how far the last of them is.
    """
    running = dict(enumerate(channels))
    done = dict.fromkeys(running, 0)
    waiting: list[Segment] = []
    last: WindowResult | None = None
    n_segment = 0
    with ExitStack() as stack:
        for windows in channels:
            stack.enter_context(closing(windows))
        while running:
            channel = min(running, key=done.__getitem__)
            window = next(running[channel], None)
            if window is None:
                del running[channel]
            else:
                last, done[channel] = window, window.done
                waiting += window.segments
            frontier = min((done[each] for each in running), default=math.inf)
            ready = sorted((each for each in waiting if each.start * FRAMES_PER_SECOND < frontier), key=_place)
            waiting = [each for each in waiting if each.start * FRAMES_PER_SECOND >= frontier]
            if last and (window or ready):
                reached = int(frontier) if running else max(done.values())
                rejected = window.rejected if window else ()
                yield replace(last, segments=_numbered(ready, n_segment), rejected=rejected, done=reached)
                n_segment += len(ready)


def _place(segment: Segment) -> tuple[float, int]:
    return segment.start, segment.channel or 0


def _numbered(segments: Iterable[Segment], first: int) -> tuple[Segment, ...]:
    return tuple(replace(segment, id=number) for number, segment in enumerate(segments, start=first))
