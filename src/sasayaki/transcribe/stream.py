"""A running transcription: an iterator over segments that knows the recording."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment, Transcription


class SegmentStream(Iterator[Segment]):
    """Gives segments as soon as they are final.

    Args:
        segments: the running loop.
        language: code of the language, given or detected.
        language_probs: probability of every language, when it was detected.
        duration: length of the recording in seconds.
        options: the options in force.
    """

    def __init__(
        self,
        segments: Generator[Segment, None, None],
        *,
        language: str,
        language_probs: Mapping[str, float] | None,
        duration: float,
        options: TranscribeOptions,
    ) -> None:
        self.language = language
        self.language_probs = language_probs
        self.duration = duration
        self.options = options
        self._segments = segments
        self._given: list[Segment] = []

    def __next__(self) -> Segment:
        segment = next(self._segments)
        self._given.append(segment)
        return segment

    def close(self) -> None:
        """Stop the transcription; no further segment comes."""
        self._segments.close()

    def collect(self) -> Transcription:
        """Run to the end; the whole transcription, segments that were given before included."""
        for _ in self:
            pass
        return Transcription(
            text="".join(segment.text for segment in self._given),
            segments=tuple(self._given),
            language=self.language,
            language_probs=self.language_probs,
            duration=self.duration,
            options=self.options,
        )
