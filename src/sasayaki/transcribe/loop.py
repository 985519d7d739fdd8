"""The sequential loop over a recording: window, decode, segments, next window."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sasayaki.alignment.timestamps import TokenSpan, split_window
from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.audio.waveform import pad_or_trim
from sasayaki.decoding.confidence import cut_trust
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.recorder import Tracer
from sasayaki.inference.base import AudioFeatures
from sasayaki.options import DecodingOptions, TranscribeOptions, parse_clip_timestamps
from sasayaki.results import DecodingResult, Segment, mean_probability
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.clips import make_clips
from sasayaki.transcribe.context import Context
from sasayaki.transcribe.fallback import Fallback, decode_with_fallback
from sasayaki.transcribe.silence import is_silent
from sasayaki.transcribe.tracing import record_window

Progress = Callable[[float, float], None]
"""Called with the seconds that are done and the seconds there are."""

TRUSTED_TEMPERATURE = 0.5
"""Text sampled hotter than this is no context for the next window (openai/whisper's rule)."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording as the loop sees it.

    Attributes:
        mel: log-mel spectrogram of the audio and of 30 s of silence behind it, (n_mels, n_frames) float32.
        content_frames: frames of it that are audio, 100 a second.
    """

    mel: npt.NDArray[np.float32]
    content_frames: int

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.content_frames / FRAMES_PER_SECOND

    def window(self, start: int, end: int) -> npt.NDArray[np.float32]:
        """Frames from `start` up to `end` as a full window (1, n_mels, N_FRAMES); what is missing is 0.0."""
        return np.asarray(pad_or_trim(self.mel[:, start:end], N_FRAMES))[None]


def transcribe_segments(
    decoder: Decoder,
    recording: Recording,
    options: TranscribeOptions,
    *,
    language: str,
    progress: Progress | None = None,
    tracer: Tracer | None = None,
) -> Generator[Segment, None, None]:
    """Yield the segments of a recording as they become final.

    Args:
        decoder: the model.
        recording: what to transcribe.
        options: how; its language is not read.
        language: code of the language to decode in, or to begin with when each window's is detected.
        progress: told after each window how far the loop is.
        tracer: records every window; None records nothing.
    """
    tokenizer = decoder.tokenizer.with_language(language, options.task)
    context = Context.begin(
        _prompt_tokens(options, tokenizer),
        is_carried=options.carry_initial_prompt,
        limit=decoder.inference.dims.n_text_ctx // 2 - 1,
    )
    n_segment = 0
    for clip in make_clips(parse_clip_timestamps(options.clip_timestamps), recording.content_frames):
        seek = clip.start
        while seek < clip.end:
            end = min(seek + N_FRAMES, clip.end)
            features = decoder.inference.encode(recording.window(seek, end))
            if options.multilingual:
                language = _window_language(decoder, features, options, language)
            window = tracer and tracer.next_window()
            traced = replace(decoder, tracer=window) if window else decoder
            kept = _decode_window(traced, features, options, language, context)
            segments: list[Segment] = []
            advance = end - seek
            if not is_silent(kept.result, options):
                split = split_window(kept.result.tokens, timestamp_begin=tokenizer.timestamp_begin, n_frames=end - seek)
                segments = _segments(split.spans, kept, tokenizer, seek=seek, first_id=n_segment)
                yield from segments
                n_segment += len(segments)
                advance = split.advance
                context = context.after(
                    [token for segment in segments for token in segment.tokens],
                    is_kept=options.condition_on_previous_text and kept.result.temperature <= TRUSTED_TEMPERATURE,
                )
            if window:
                record_window(window, kept, segments, options, seek=seek, end=end, next_seek=seek + advance)
            seek += advance
            if progress:
                progress(min(seek, clip.end) / FRAMES_PER_SECOND, recording.duration)


def detect_recording_language(
    decoder: Decoder, recording: Recording, languages: str | Sequence[str] | None = None
) -> tuple[str, dict[str, float]]:
    """Code of the language of the first 30 s, and the probability of every language that is allowed."""
    features = decoder.inference.encode(pad_or_trim(recording.mel, N_FRAMES)[None])
    detected = decoder.detect_languages(features, languages)[0]
    return detected.code, detected.probs


def _window_language(decoder: Decoder, features: list[AudioFeatures], options: TranscribeOptions, previous: str) -> str:
    """The window's own language if it is likely enough, else that of the window before."""
    detected = decoder.detect_languages(features, options.languages)[0]
    is_likely = detected.probs[detected.code] >= options.language_detection_threshold
    return detected.code if is_likely else previous


def _decode_window(
    decoder: Decoder,
    features: list[AudioFeatures],
    options: TranscribeOptions,
    language: str,
    context: Context,
) -> Fallback:
    """Decode one encoded window at each temperature until a result passes."""
    prompt = context.prompt()
    ladder = (options.for_window(temperature, language=language, prompt=prompt) for temperature in options.temperatures)

    def decode(step: DecodingOptions) -> DecodingResult:
        return decoder.decode(features, [step])[0]

    return decode_with_fallback(decode, ladder, options)


def _segments(
    spans: tuple[TokenSpan, ...], kept: Fallback, tokenizer: Tokenizer, *, seek: int, first_id: int
) -> list[Segment]:
    """Segments with text and some length; the others are dropped."""
    result, offset = kept.result, seek / FRAMES_PER_SECOND
    texts = tokenizer.decode_pieces([span.tokens for span in spans])
    trusts = cut_trust(result, [span.tokens for span in spans], tokenizer)
    spoken = [
        (span, text, trust)
        for span, text, trust in zip(spans, texts, trusts, strict=True)
        if text.strip() and span.end > span.start
    ]
    return [
        Segment(
            id=number,
            seek=seek,
            start=round(offset + span.start, 3),
            end=round(offset + span.end, 3),
            text=text,
            tokens=span.tokens,
            temperature=result.temperature,
            avg_logprob=result.avg_logprob,
            compression_ratio=result.compression_ratio,
            no_speech_prob=result.no_speech_prob,
            language=result.language,
            attempts=kept.attempts,
            confidence=mean_probability(trust.words),
            token_probs=trust.token_probs,
            word_scores=trust.words,
            alternatives=trust.alternatives,
        )
        for number, (span, text, trust) in enumerate(spoken, start=first_id)
    ]


def _prompt_tokens(options: TranscribeOptions, tokenizer: Tokenizer) -> tuple[int, ...]:
    given = options.initial_prompt or ()
    return tuple(tokenizer.encode(" " + given.strip()) if isinstance(given, str) else given)
