"""What the loop over a recording asks for and what it gives: values only, so that any driver can run it.

The loop is a generator. It yields requests, and is sent their answers; and it yields a `WindowResult` for each window
that is final, to which nothing is sent (None). A driver may hold many loops at once and answer their requests together.

    Listen → Voice     Detect → DetectedLanguage     Decode → DecodingResult     Attend → array
    Hear → array       Compare → float     Score → array
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sasayaki.audio.constants import N_FRAMES
from sasayaki.decoding.recorder import Tracer
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.results import Segment
from sasayaki.transcribe.context import Context


@dataclass(frozen=True, slots=True)
class Window:
    """At most 30 s of a recording: frames `start` up to `end`, 100 a second.

    Drivers encode it filled up to `context` frames: with 0.0 as openai/whisper does, which stands for a faint hiss, or
    with silence. Requests of equal windows share their encoded features, until another window is decoded. Frames behind
    the end of the recording are those of silence.
    """

    start: int
    end: int
    context: int = N_FRAMES
    ends_in_silence: bool = False

    @property
    def n_frames(self) -> int:
        """Its length in frames."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Listen:
    """Where in a window does somebody speak? Answered by a `Voice`.

    Attributes:
        window: what to listen to.
        options: with the fields `vad…`.
    """

    window: Window
    options: TranscribeOptions


@dataclass(frozen=True, slots=True)
class Detect:
    """Which language is spoken in a window? Answered by a `DetectedLanguage`.

    Attributes:
        window: what to listen to.
        languages: codes to choose from; None allows all.
    """

    window: Window
    languages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Decode:
    """What is said in a window? Answered by a `DecodingResult`.

    Attributes:
        window: what to listen to.
        options: how to decode.
        tracer: records the decode; None records nothing.
    """

    window: Window
    options: DecodingOptions
    tracer: Tracer | None = None


@dataclass(frozen=True, slots=True)
class Attend:
    """Where in a window does the decoder look? Answered as `AlignmentInference.cross_attention` does.

    That is (n_head, n_tokens, n_audio_ctx) float32, in the array type of the engine.

    Attributes:
        window: what to listen to.
        tokens: fed to the decoder all at once.
        heads: (layer, head) pairs.
    """

    window: Window
    tokens: tuple[int, ...]
    heads: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Hear:
    """What sounds in a window? Answered as `sasayaki.alignment.levels.sound_levels` does: (n_frames,) float64.

    Attributes:
        window: what to listen to; of its frames only.
    """

    window: Window


@dataclass(frozen=True, slots=True)
class Compare:
    """How much does what sounds in a window repeat itself? Answered by `sasayaki.alignment.recurrence.recurrence`.

    Attributes:
        window: what to listen to; of its frames only.
        farthest: seconds between what is compared, at most.
    """

    window: Window
    farthest: float = math.inf


@dataclass(frozen=True, slots=True)
class Score:
    """How likely is a given text in a window? Answered as `sasayaki.decoding.score.score_tokens` does.

    That is a log-probability for each token from number `begin` on, float64.

    Attributes:
        window: what to listen to.
        tokens: fed to the decoder all at once.
        begin: number of the first token of the text.
    """

    window: Window
    tokens: tuple[int, ...]
    begin: int


@dataclass(frozen=True, slots=True)
class Said:
    """What a segment says, and when, in seconds from the start of the recording."""

    start: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the loop stands between two windows: all that the rest of a transcription depends on.

    Attributes:
        clip: number of the clip that it is in; -1 before the first.
        seek: first frame of the next window in it.
        n_segment: number of segments so far.
        language: code of the language of the last window.
        language_probability: of that language, by the last detection; NaN when it was given.
        context: what the next window is told.
        last_speech: end of the last word so far in seconds, where words have times.
        said: by the latest segments, where loops are looked for.
    """

    clip: int
    seek: int
    n_segment: int
    language: str
    context: Context
    last_speech: float = 0.0
    language_probability: float = math.nan
    said: tuple[Said, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowResult:
    """A window that is done.

    Attributes:
        window: its frames.
        segments: what it gave, final.
        rejected: text that is taken for invented.
        n_guard_decodes: stretches of it that the coverage guard has decoded again.
        done: frame up to which the clip is transcribed.
        place: where the loop goes on, and could be started again.
        channel: of the recording, when each has a loop of its own.
    """

    window: Window
    segments: tuple[Segment, ...]
    done: int
    place: Place
    rejected: tuple[Segment, ...] = ()
    channel: int | None = None
    n_guard_decodes: int = 0


Request: TypeAlias = "Listen | Detect | Decode | Attend | Hear | Compare | Score"
Answer: TypeAlias = Any
"""What a request says that it is answered by; None for a `WindowResult`."""

_Found = TypeVar("_Found")

Asking: TypeAlias = Generator[Request, Answer, _Found]
"""A part of the loop: asks, and returns what it found."""

Loop: TypeAlias = "Generator[Request | WindowResult, Answer, Any]"
"""A loop over a recording."""

Windows: TypeAlias = Generator[WindowResult, None, None]
"""What a driver makes of a loop: its windows, each as soon as it is final."""
