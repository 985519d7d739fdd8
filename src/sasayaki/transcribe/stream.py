"""A running transcription: an iterator over segments that knows the recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.errors import StoppedError
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment, Transcription
from sasayaki.transcribe.requests import Windows

Progress = Callable[[float, float], None]
"""Called with the seconds that are done and the seconds there are."""


class SegmentStream(Iterator[Segment]):
    """Gives segments as soon as they are final.

    Args:
        windows: the running loop.
        language: code of the language, given or detected.
        language_probs: probability of every language, when it was detected.
        duration: length of the recording in seconds.
        options: the options in force.
        progress: told after each window how far the loop is.
        release: called once when the transcription is over, whatever ended it.
    """

    def __init__(
        self,
        windows: Windows,
        *,
        language: str,
        language_probs: Mapping[str, float] | None,
        duration: float,
        options: TranscribeOptions,
        progress: Progress | None = None,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.language = language
        self.language_probs = language_probs
        self.duration = duration
        self.options = options
        self._windows = windows
        self._progress = progress
        self._release = release
        self._ready: deque[Segment] = deque()
        self._given: list[Segment] = []
        self._rejected: list[Segment] = []
        self._n_guard_decodes = 0

    def __next__(self) -> Segment:
        try:
            while not self._ready:
                window = next(self._windows)
                self._ready.extend(window.segments)
                self._rejected.extend(window.rejected)
                self._n_guard_decodes += window.n_guard_decodes
                if self._progress:
                    self._progress(window.done / FRAMES_PER_SECOND, self.duration)
        except BaseException as error:
            self.close()
            if isinstance(error, StoppedError):
                error.transcription = self.transcription
            raise
        self._given.append(self._ready.popleft())
        return self._given[-1]

    def close(self) -> None:
        """Stop the transcription; no further segment comes. Safe to call twice."""
        self._windows.close()
        self._ready.clear()
        if self._release:
            self._release()

    def collect(self) -> Transcription:
        """Run to the end; the whole transcription, segments that were given before included.

        Raises:
            StoppedError: the transcription was cancelled, or took too long.
        """
        for _ in self:
            pass
        return self.transcription

    @property
    def transcription(self) -> Transcription:
        """What has been given so far."""
        return Transcription(
            text="".join(segment.text for segment in self._given),
            segments=tuple(self._given),
            language=self.language,
            language_probs=self.language_probs,
            duration=self.duration,
            rejected=tuple(self._rejected),
            n_guard_decodes=self._n_guard_decodes,
            options=self.options,
        )
