"""Begins the transcription of a recording: reads it, settles its language, and gives the running stream."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sasayaki.alignment.heads import AlignmentHeads
from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.audio.load import AudioSource
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.language import allowed_languages
from sasayaki.decoding.recorder import Tracer
from sasayaki.errors import StoppedError
from sasayaki.languages import to_language_code
from sasayaki.option_values import parse_languages
from sasayaki.options import TranscribeOptions
from sasayaki.records import to_plain
from sasayaki.results import AlignedWord, Alignment
from sasayaki.transcribe.align import AlignmentWork, Text, align_window, not_found
from sasayaki.transcribe.channels import label_channel, merge_channels
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.journal import Journal, checksum, go_on
from sasayaki.transcribe.language import recording_language
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.recording import Recording, opened
from sasayaki.transcribe.requests import Place, Windows
from sasayaki.transcribe.stop import Stop
from sasayaki.transcribe.stream import Progress, SegmentStream
from sasayaki.transcribe.tracing import record_start

Plan: TypeAlias = "Callable[[Driver, Assignment, Place], Windows]"


@dataclass(frozen=True, slots=True)
class Run:
    """What a transcription takes from its surroundings.

    Attributes:
        stop: what may end it.
        progress: told how far it is.
        journal: file to keep windows in.
        tracer: records them.
        model: what tells the model from others, as values of JSON, for the journal.
        heads: of the model, whose attention gives word times.
        plan: how the rest of a recording is gone through from a place on.
    """

    stop: Stop
    progress: Progress | None
    journal: str | os.PathLike[str] | None
    tracer: Tracer | None
    model: Mapping[str, Any]
    heads: AlignmentHeads
    plan: Plan


@dataclass(frozen=True, slots=True)
class _Channel:
    """A channel whose language is settled.

    Attributes:
        driver: answers what its loop asks.
        language: code of the language.
        language_probs: of all languages; None when the language was given.
        number: of the channel; None when all are mixed.
    """

    driver: Driver
    language: str
    language_probs: dict[str, float] | None
    number: int | None


def one_after_the_other(driver: Driver, work: Assignment, place: Place) -> Windows:
    """The plan of openai/whisper: each window is told what was said before it, and says where the next one begins."""
    return driver.run(transcribe_recording(work, place))


def start(decoder: Decoder, source: AudioSource, options: TranscribeOptions, run: Run) -> SegmentStream:
    """Read the recording and begin.

    Raises:
        AudioError: the recording cannot be read.
        OutputError: the journal cannot be read or written.
        StoppedError: there was no time for as much.
    """
    split, check = options.channels == "split", run.stop.check
    with opened(source, decoder.inference.dims.n_mels, split=split, check=check) as recordings:
        drivers = [Driver(decoder, recording, check) for recording in recordings]
        channels = [
            _Channel(driver, *_language(driver, options), number if split else None)
            for number, driver in enumerate(drivers)
        ]
        codes = [channel.language for channel in channels]
        journal = Journal(run.journal, _facts(recordings, options, codes, run.model)) if run.journal else None
        windows = [_begin(channel, options, run, journal) for channel in channels]

        def release() -> None:
            for recording in recordings:
                recording.close()
            if journal:
                journal.close()

        return SegmentStream(
            merge_channels(windows) if split else windows[0],
            language=channels[0].language,
            language_probs=channels[0].language_probs,
            duration=max(recording.duration for recording in recordings),
            options=options,
            progress=run.progress,
            release=release,
        )


def align(
    decoder: Decoder,
    source: AudioSource,
    text: str,
    language: str | None,
    heads: AlignmentHeads,
    *,
    stop: Stop,
    progress: Progress | None,
) -> Alignment:
    """Read the recording, and find the words of its text in it.

    Raises:
        OptionError: the text has no words, or the model does not know the language.
        AudioError: the recording cannot be read.
        BackendError: the engine does not tell where attention looks.
        StoppedError: there was no time for as much; it has the words that were found as a transcription.
    """
    dims = decoder.inference.dims
    Text.of(text, decoder.tokenizer.with_language(language))
    with opened(source, dims.n_mels, check=stop.check) as (recording,):
        driver = Driver(decoder, recording, stop.check)
        try:
            code, _ = _language(driver, TranscribeOptions(language=language, vad="off"))
            words = Text.of(text, decoder.tokenizer.with_language(code))
            work = AlignmentWork(words, recording.content_frames, dims.n_text_ctx, heads)
            found = _align_windows(driver, work, code, progress)
        finally:
            recording.close()
    found += not_found(words, len(found))
    return Alignment(words=tuple(found), language=code, duration=recording.duration)


def _align_windows(driver: Driver, work: AlignmentWork, language: str, progress: Progress | None) -> list[AlignedWord]:
    """The words that are settled when the recording or the text is over."""
    duration = driver.recording.duration
    found: list[AlignedWord] = []
    seek = 0
    try:
        while seek < work.content_frames and len(found) < len(work.text.groups):
            aligned = driver.find(align_window(work, len(found), seek))
            found += aligned.words
            seek = aligned.seek
            driver.forget()
            if progress:
                progress(min(seek / FRAMES_PER_SECOND, duration), duration)
    except StoppedError as error:
        error.transcription = Alignment(words=tuple(found), language=language, duration=duration).to_transcription()
        raise
    if progress:
        progress(duration, duration)
    return found


def _begin(channel: _Channel, options: TranscribeOptions, run: Run, journal: Journal | None) -> Windows:
    """The windows of one channel."""
    language, probs = channel.language, channel.language_probs
    recording, decoder = channel.driver.recording, channel.driver.decoder
    if run.tracer:
        record_start(
            run.tracer,
            options,
            model=run.model["name"],
            duration=recording.duration,
            language=language,
            language_probs=probs,
        )
    work = Assignment(
        recording.content_frames,
        options,
        decoder.tokenizer.with_language(language, options.task),
        n_text_ctx=decoder.inference.dims.n_text_ctx,
        heads=run.heads,
        tracer=run.tracer,
        language=language,
        language_probability=probs[language] if probs else math.nan,
    )

    def windows(place: Place) -> Windows:
        running = run.plan(channel.driver, work, place)
        return running if channel.number is None else label_channel(running, channel.number)

    begin = work.begin()
    return go_on(journal, windows, begin, channel=channel.number) if journal else windows(begin)


def _language(driver: Driver, options: TranscribeOptions) -> tuple[str, dict[str, float] | None]:
    """Code of the language, and the probabilities of all if it had to be detected."""
    if options.language is not None:
        return to_language_code(options.language), None
    decoder = driver.decoder
    if not decoder.inference.dims.is_multilingual or not driver.recording.content_frames:
        return next(iter(allowed_languages(decoder.tokenizer, parse_languages(options.languages)))), None
    detected = driver.find(recording_language(options, driver.recording.content_frames))
    return detected.code, detected.probs


def _facts(
    recordings: Sequence[Recording], options: TranscribeOptions, languages: Sequence[str], model: Mapping[str, Any]
) -> dict[str, Any]:
    """What the windows depend on; filters and scorers of the user's own cannot be compared."""
    return {
        "model": dict(model),
        "options": to_plain(options),
        "languages": list(languages),
        "n_samples": [recording.samples.n_samples for recording in recordings],
        "checksums": [checksum(recording.samples) for recording in recordings],
    }
