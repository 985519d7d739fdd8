"""Begins the transcription of a recording: reads it, settles its language, and gives the running stream."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from sasayaki.audio.load import AudioSource
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.language import allowed_languages
from sasayaki.decoding.recorder import Tracer
from sasayaki.languages import to_language_code
from sasayaki.options import TranscribeOptions, parse_languages
from sasayaki.records import to_plain
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.journal import Journal, checksum, go_on
from sasayaki.transcribe.language import recording_language
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.recording import Recording
from sasayaki.transcribe.requests import Place, WindowResult
from sasayaki.transcribe.stop import Stop
from sasayaki.transcribe.stream import Progress, SegmentStream
from sasayaki.transcribe.tracing import record_start


@dataclass(frozen=True, slots=True)
class Run:
    """What accompanies a transcription and does not change its result.

    Attributes:
        stop: what may end it.
        progress: told how far it is.
        journal: file to keep windows in.
        tracer: records them.
        model: what tells the model from others, as values of JSON, for the journal.
    """

    stop: Stop
    progress: Progress | None
    journal: str | os.PathLike[str] | None
    tracer: Tracer | None
    model: Mapping[str, Any]


def start(decoder: Decoder, source: AudioSource, options: TranscribeOptions, run: Run) -> SegmentStream:
    """Read the recording and begin.

    Raises:
        AudioError: the recording cannot be read.
        OutputError: the journal cannot be read or written.
        StoppedError: there was no time for as much.
    """
    recording = Recording.open(source, decoder.inference.dims.n_mels, check=run.stop.check)
    try:
        return _begin(Driver(decoder, recording, run.stop.check), options, run)
    except BaseException:
        recording.close()
        raise


def _begin(driver: Driver, options: TranscribeOptions, run: Run) -> SegmentStream:
    recording, decoder = driver.recording, driver.decoder
    language, probs = _language(driver, options)
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
        tracer=run.tracer,
    )

    def windows(place: Place) -> Generator[WindowResult, None, None]:
        return driver.run(transcribe_recording(work, place))

    place = work.begin(language)
    journal = run.journal and Journal(run.journal, _facts(recording, options, language, run.model))
    return SegmentStream(
        go_on(journal, windows, place) if journal else windows(place),
        language=language,
        language_probs=probs,
        duration=recording.duration,
        options=options,
        progress=run.progress,
        release=recording.close,
    )


def _language(driver: Driver, options: TranscribeOptions) -> tuple[str, dict[str, float] | None]:
    """Code of the language, and the probabilities of all if it had to be detected."""
    if options.language is not None:
        return to_language_code(options.language), None
    decoder = driver.decoder
    if not decoder.inference.dims.is_multilingual or not driver.recording.content_frames:
        return next(iter(allowed_languages(decoder.tokenizer, parse_languages(options.languages)))), None
    detected = driver.find(recording_language(options))
    return detected.code, detected.probs


def _facts(recording: Recording, options: TranscribeOptions, language: str, model: Mapping[str, Any]) -> dict[str, Any]:
    """What the windows depend on; filters and scorers of the user's own cannot be compared."""
    return {
        "model": dict(model),
        "options": to_plain(options),
        "language": language,
        "n_samples": recording.samples.n_samples,
        "checksum": checksum(recording.samples),
    }
