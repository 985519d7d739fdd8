"""The stretches of a recording that are to be transcribed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.audio.constants import FRAMES_PER_SECOND


@dataclass(frozen=True, slots=True)
class Clip:
    """A stretch from frame `start` up to frame `end`, 100 frames a second.

    Attributes:
        start: its first frame.
        end: the frame behind its last.
        is_cut: whether it is a window whose end was put into a pause, so that all it holds is written at once.
    """

    start: int
    end: int
    is_cut: bool = False


def make_clips(seconds: Sequence[float], content_frames: int) -> list[Clip]:
    """Clips from alternating starts and ends in seconds.

    No number means the whole recording; a last start without an end goes on to the end. Clips are cut to the
    recording, and those that lie behind its end are left out.
    """
    frames = [round(second * FRAMES_PER_SECOND) for second in seconds] or [0]
    if len(frames) % 2:
        frames.append(content_frames)
    clips = [Clip(start, min(end, content_frames)) for start, end in zip(frames[::2], frames[1::2], strict=True)]
    return [clip for clip in clips if clip.start < clip.end]
