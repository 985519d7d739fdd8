"""The trace: what a decoder did and why, as a list of typed events that can be written, read and looked at."""

from sasayaki.trace.events import (
    AttentionMap,
    BannedToken,
    DecodeFinished,
    DecodeStarted,
    DecodeStep,
    Event,
    FilterEffect,
    Offspring,
    RankedHypothesis,
    StepCandidate,
    StepRow,
    TranscriptionStarted,
    WindowAttempt,
    WindowFinished,
    WindowSegment,
    WindowWord,
)
from sasayaki.trace.trace import Trace, TracedDecode

__all__ = [
    "AttentionMap",
    "BannedToken",
    "DecodeFinished",
    "DecodeStarted",
    "DecodeStep",
    "Event",
    "FilterEffect",
    "Offspring",
    "RankedHypothesis",
    "StepCandidate",
    "StepRow",
    "Trace",
    "TracedDecode",
    "TranscriptionStarted",
    "WindowAttempt",
    "WindowFinished",
    "WindowSegment",
    "WindowWord",
]
