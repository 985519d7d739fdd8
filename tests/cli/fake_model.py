"""A model for command line tests that says fixed segments, remembers what it was asked for, and can misbehave."""

from __future__ import annotations

import sys
import time
import types
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import sasayaki
from sasayaki.errors import AudioError, ModelNotFoundError, StoppedError
from sasayaki.options import TranscribeOptions
from sasayaki.results import AlignedWord, Alignment, Segment
from sasayaki.transcribe.context import Context
from sasayaki.transcribe.requests import Place, Window, WindowResult
from sasayaki.transcribe.stream import SegmentStream

DURATION = 11.0


def segment(start: float, end: float, text: str, **changes: Any) -> Segment:
    """A segment with plausible figures."""
    figures: dict[str, Any] = {
        "id": 0,
        "seek": 0,
        "tokens": (1, 2),
        "temperature": 0.0,
        "avg_logprob": -0.2,
        "compression_ratio": 1.2,
        "no_speech_prob": 0.1,
        "language": "en",
    }
    return Segment(start=start, end=end, text=text, **{**figures, **changes})


SEGMENTS = (segment(0.0, 4.5, " Hello there."), segment(4.5, DURATION, " General words.", id=1))


def running(
    segments: Iterable[Segment], options: TranscribeOptions | None = None, *, is_detected: bool = True
) -> SegmentStream:
    """A running transcription that gives these segments."""
    options = options or TranscribeOptions()
    return SegmentStream(
        (_window(each) for each in segments),
        language=options.language or "en",
        language_probs={"en": 0.9, "de": 0.1} if is_detected and options.language is None else None,
        duration=DURATION,
        options=options,
    )


def _window(segment: Segment) -> WindowResult:
    place = Place(
        clip=0, seek=0, n_segment=segment.id + 1, language="en", context=Context.begin((), is_carried=False, limit=0)
    )
    return WindowResult(Window(0, 0), (segment,), done=round(segment.end * 100), place=place)


@dataclass
class FakeModel:
    """Answers every recording with `segments`; a recording's content may ask for trouble instead.

    Content `broken` is no audio, `crash` is a fault of the program, `slow` never ends, `stopped` takes too long,
    `interrupt` is Ctrl-C.
    """

    segments: tuple[Segment, ...] = SEGMENTS
    is_multilingual: bool = True
    dims: Any = field(default_factory=lambda: types.SimpleNamespace(n_mels=80))
    load_arguments: dict[str, Any] = field(default_factory=dict)
    n_loads: int = 0
    n_windows: int = 0
    heard: list[str | bytes] = field(default_factory=list)
    options: list[TranscribeOptions] = field(default_factory=list)
    time_limits: list[float | None] = field(default_factory=list)

    def load(self, name: str, device: str = "auto", download_root: str | None = None, **arguments: Any) -> FakeModel:
        """Stands in for `sasayaki.load_model`."""
        if name == "nonsense":
            raise ModelNotFoundError("unknown model 'nonsense'.\nTried:\n  - this\n  - that")
        if name == "crash":
            raise RuntimeError("the engine broke")
        self.n_loads += 1
        self.load_arguments = {"model": name, "device": device, "model_dir": download_root, **arguments}
        return self

    def stream(
        self,
        audio: str | bytes | IO[bytes],
        *,
        time_limit: float | None = None,
        journal: Path | None = None,
        progress: Callable[[float, float], None] | None = None,
        options: TranscribeOptions | None = None,
    ) -> SegmentStream:
        """Stands in for `Whisper.stream`."""
        if not isinstance(audio, (str, bytes)):
            audio = audio.read()
        content = audio if isinstance(audio, bytes) else Path(audio).read_bytes()
        self.time_limits.append(time_limit)
        if content == b"broken":
            raise AudioError(f"{audio!r} cannot be read as a recording")
        self.heard.append(audio)
        options = options or TranscribeOptions()
        self.options.append(options)
        return running(self._segments(content, progress), options, is_detected=self.is_multilingual)

    def batch_size(self, options: TranscribeOptions) -> int:
        """Stands in for `Whisper.batch_size`."""
        return 5 if isinstance(options.batch_size, str) else options.batch_size

    def stream_many(
        self, items: Iterable[Any], begin: Callable[..., SegmentStream], *, n_windows: int
    ) -> Generator[tuple[Any, SegmentStream | Exception], None, None]:
        """Stands in for `Whisper.stream_many`; nothing is opened ahead."""
        self.n_windows = n_windows
        for item in items:
            try:
                found: SegmentStream | Exception = begin(item, self.stream)
            except AudioError as error:
                found = error
            yield item, found

    def align(
        self,
        audio: str | IO[bytes],
        text: str,
        language: str | None = None,
        *,
        progress: Callable[[float, float], None] | None = None,
        time_limit: float | None = None,
    ) -> Alignment:
        """Stands in for `Whisper.align`: every second word is found, the n-th at n seconds."""
        self.heard.append(audio if isinstance(audio, str) else audio.read())
        if time_limit == 5:
            raise StoppedError("the transcription took longer than time_limit=5", reason="time_limit")
        if progress is not None:
            progress(DURATION, DURATION)
        words = [
            AlignedWord(word=f" {word}", probability=0.5, **({} if at % 2 else {"start": at, "end": at + 0.5}))
            for at, word in enumerate(text.split())
        ]
        return Alignment(words=tuple(words), language=language or "en", duration=DURATION)

    def _segments(
        self, content: bytes, progress: Callable[[float, float], None] | None
    ) -> Generator[Segment, None, None]:
        for each in self.segments:
            yield each
            if content == b"crash":
                raise RuntimeError("a fault\nof two lines")
            if content == b"stopped":
                raise StoppedError("the transcription took longer than time_limit=5", reason="time_limit")
            if content == b"interrupt":
                raise KeyboardInterrupt
            if content == b"slow":
                time.sleep(60)
            if progress is not None:
                progress(each.end, DURATION)


def main() -> int:
    """The command line with a fake model, for tests in a process of their own."""
    sasayaki.load_model = FakeModel().load  # type: ignore[assignment]
    from sasayaki.cli.start import main as sasayaki_main

    return sasayaki_main()


if __name__ == "__main__":
    sys.exit(main())
