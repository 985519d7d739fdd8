"""The long-form loop written down flatly, as a twin of `sasayaki.transcribe`; knows nothing of engines or of mels.

It follows what openai/whisper does with windows, temperatures and prompts, save for these rules of ours: clips end
with the audio, times lie within the window (each segment keeps 0.02 s of it, or its share of less, before those behind
it), a window always moves on, the best of several failed attempts wins, a carried prompt is never pushed out, and
segments without text or duration do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WINDOW_FRAMES = 3000
SECONDS_PER_FRAME = 0.01
FRAMES_PER_TIMESTAMP = 2
PROMPT_LIMIT = 223
HOT = 0.5


@dataclass(frozen=True)
class Decoded:
    """What the decoder says about one window at one temperature."""

    tokens: tuple[int, ...]
    avg_logprob: float
    no_speech_prob: float
    compression_ratio: float


@dataclass(frozen=True)
class Asked:
    """One call of the decoder: the window and how it was asked."""

    seek: int
    size: int
    temperature: float
    prompt: tuple[int, ...]


@dataclass(frozen=True)
class SlowSegment:
    seek: int
    start: float
    end: float
    tokens: tuple[int, ...]
    temperature: float


@dataclass(frozen=True)
class Settings:
    """The options that the loop itself reads."""

    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    compression_ratio_threshold: float | None = 2.4
    logprob_threshold: float | None = -1.0
    no_speech_threshold: float | None = 0.6
    condition_on_previous_text: bool = True
    initial_prompt: tuple[int, ...] = ()
    carry_initial_prompt: bool = False
    clip_seconds: tuple[float, ...] = (0.0,)


@dataclass
class SlowLoop:
    """Runs over a recording of `n_frames`; afterwards `segments` and `asked` say what happened."""

    n_frames: int
    settings: Settings
    decode: Callable[[Asked], Decoded]
    timestamp_begin: int
    text_of: Callable[[Sequence[int]], str]
    segments: list[SlowSegment] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def run(self) -> SlowLoop:
        history = list(self.settings.initial_prompt)
        history_begins = 0
        for first, last in self.clips():
            seek = first
            while seek < last:
                size = min(WINDOW_FRAMES, last - seek)
                prompt = self.prompt(history, history_begins)
                result, temperature = self.with_fallback(seek, size, prompt)
                if self.is_silence(result):
                    seek += size
                    continue
                segments, moved = self.split(seek, size, result.tokens, temperature)
                self.segments += segments
                for segment in segments:
                    history += segment.tokens
                if temperature > HOT or not self.settings.condition_on_previous_text:
                    history_begins = len(history)
                seek += moved
        return self

    def clips(self) -> list[tuple[int, int]]:
        edges = [round(second * 100) for second in self.settings.clip_seconds] or [0]
        if len(edges) % 2 == 1:
            edges.append(self.n_frames)
        edges = [min(edge, self.n_frames) for edge in edges]
        return [(edges[place], edges[place + 1]) for place in range(0, len(edges), 2)]

    def prompt(self, history: list[int], history_begins: int) -> tuple[int, ...]:
        n_initial = len(self.settings.initial_prompt)
        if not self.settings.carry_initial_prompt:
            return tuple(history[history_begins:][-PROMPT_LIMIT:])
        carried = list(self.settings.initial_prompt[-PROMPT_LIMIT:])
        previous = history[max(history_begins, n_initial) :]
        room = PROMPT_LIMIT - len(carried)
        while len(previous) > room:
            previous = previous[1:]
        return (*carried, *previous)

    def with_fallback(self, seek: int, size: int, prompt: tuple[int, ...]) -> tuple[Decoded, float]:
        attempts: list[tuple[Decoded, float]] = []
        for temperature in self.settings.temperatures:
            asked = Asked(seek, size, temperature, prompt)
            self.asked.append(asked)
            result = self.decode(asked)
            if self.is_silence(result) or not (self.is_loop(result) or self.is_unsure(result)):
                return result, temperature
            attempts.append((result, temperature))
        readable = [attempt for attempt in attempts if not self.is_loop(attempt[0])]
        if readable:
            return max(readable, key=lambda attempt: attempt[0].avg_logprob)
        return min(attempts, key=lambda attempt: attempt[0].compression_ratio)

    def is_loop(self, result: Decoded) -> bool:
        limit = self.settings.compression_ratio_threshold
        return limit is not None and result.compression_ratio > limit

    def is_unsure(self, result: Decoded) -> bool:
        limit = self.settings.logprob_threshold
        return limit is not None and result.avg_logprob < limit

    def is_silence(self, result: Decoded) -> bool:
        limit = self.settings.no_speech_threshold
        if limit is None or result.no_speech_prob <= limit:
            return False
        return self.settings.logprob_threshold is None or self.is_unsure(result)

    def split(self, seek: int, size: int, tokens: tuple[int, ...], temperature: float) -> tuple[list[SlowSegment], int]:
        """Segments of a window's tokens, and by how many frames the window moves on."""
        is_time = [token >= self.timestamp_begin for token in tokens]
        cuts = [place for place in range(1, len(tokens)) if is_time[place - 1] and is_time[place]]
        window_end = (seek + size) * SECONDS_PER_FRAME
        lasting: list[tuple[float, float, tuple[int, ...]]] = []

        def add(start: float, end: float, inside: tuple[int, ...]) -> None:
            if end > start:
                lasting.append((start, end, inside))

        def placed() -> list[SlowSegment]:
            found: list[SlowSegment] = []
            latest = window_end
            step = min(0.02, size * SECONDS_PER_FRAME / max(len(lasting), 1))
            for number, (start, end, inside) in reversed(list(enumerate(lasting))):
                earliest = seek * SECONDS_PER_FRAME + number * step
                end = max(min(end, latest), earliest + step)
                latest = max(min(start, end - step), earliest)
                found.insert(0, SlowSegment(seek, latest, end, inside, temperature))
            return [each for each in found if self.text_of(each.tokens).strip()]

        if not cuts:
            times = [token for token, timed in zip(tokens, is_time, strict=True) if timed]
            last = self.seconds(seek, times[-1]) if times and times[-1] != self.timestamp_begin else window_end
            add(seek * SECONDS_PER_FRAME, last, tokens)
            return placed(), size

        ends_with_one_time = len(tokens) > 1 and is_time[-1] and not is_time[-2]
        if ends_with_one_time:
            cuts.append(len(tokens))
        begin = 0
        for cut in cuts:
            inside = tokens[begin:cut]
            add(self.seconds(seek, inside[0]), self.seconds(seek, inside[-1]), inside)
            begin = cut
        if ends_with_one_time:
            return placed(), size
        moved = (tokens[begin - 1] - self.timestamp_begin) * FRAMES_PER_TIMESTAMP
        return placed(), max(1, min(moved, size)) if moved else size

    def seconds(self, seek: int, token: int) -> float:
        """The time of a timestamp token in the recording; text without one starts with its window."""
        return (seek + max(0, token - self.timestamp_begin) * FRAMES_PER_TIMESTAMP) * SECONDS_PER_FRAME
