"""Joins data, style and scripts to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import gzip
import html
import os
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.audio import SAMPLE_RATE, AudioSource, Waveform, load_audio, log_mel_spectrogram
from sasayaki.errors import AudioError, TraceError
from sasayaki.inspect.decodes import Detail
from sasayaki.inspect.pictures import PEAKS_PER_SECOND, waveform_peaks
from sasayaki.inspect.windows import WindowBlocks, to_json, window_blocks, window_summaries
from sasayaki.trace import Trace, TranscriptionStarted
from sasayaki.writers import write_text

SIZE_LIMIT = 12_000_000
"""Characters; a page that would have more is made with less detail, as far as there is less."""

_SCRIPTS = ("data", "draw", "sound", "words", "attempts", "tokens", "candidates", "tree", "app")
_N_LANGUAGES = 5
_TOLERANCE = 0.1
"""Seconds by which a recording may be longer or shorter than its trace says."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """A recording with its transcription."""

    name: str
    started: TranscriptionStarted
    samples: Waveform
    mel: npt.NDArray[np.float32]


def write_page(path: str | os.PathLike[str], trace: Trace, audio: AudioSource, *, name: str | None = None) -> None:
    """Write the page of a transcription; `build_page` says what it takes.

    Raises:
        TraceError: the trace is not that of one transcription.
        AudioError: the recording cannot be read, or is another one.
        OutputError: the file cannot be written.
    """
    write_text(path, build_page(trace, audio, name=name))


def build_page(trace: Trace, audio: AudioSource, *, name: str | None = None) -> str:
    """The page of a transcription as HTML.

    Args:
        trace: of one transcription, recorded by `transcribe` or `stream`.
        audio: what was transcribed: path, bytes, binary file object, or samples at 16 kHz (n_samples,).
        name: heading of the page; None takes the name of the file.

    Raises:
        TraceError: the trace is not that of one transcription.
        AudioError: the recording cannot be read, or is another one.
    """
    started = _only_transcription(trace)
    samples = load_audio(audio)
    seconds = len(samples) / SAMPLE_RATE
    if abs(seconds - started.duration) > _TOLERANCE:
        raise AudioError(
            f"expected the recording of the trace, {started.duration:.2f} seconds, got one of {seconds:.2f} seconds"
        )
    subject = _Subject(name or _name_of(audio), started, samples, log_mel_spectrogram(samples))
    page = ""
    for detail in Detail:
        page = _fill(subject, trace, detail)
        if len(page) <= SIZE_LIMIT:
            break
    return page


def _only_transcription(trace: Trace) -> TranscriptionStarted:
    started = trace.of(TranscriptionStarted)
    if len(started) != 1:
        raise TraceError(
            f"expected the trace of one transcription, got one of {len(started) or 'none'}; "
            "pass a Trace of its own to transcribe or stream"
        )
    return started[0]


def _name_of(audio: AudioSource) -> str:
    return os.path.basename(os.fsdecode(audio)) if isinstance(audio, (str, os.PathLike)) else "recording"


def _fill(subject: _Subject, trace: Trace, detail: Detail) -> str:
    blocks = window_blocks(trace, subject.mel, detail)
    parts = {
        "TITLE": html.escape(subject.name),
        "STYLE": _asset("page.css"),
        "META": _script_safe(to_json(_meta(subject, trace))),
        "BLOCKS": "\n".join(_block_elements(blocks)),
        "SCRIPT": "\n".join(_asset(f"{name}.js") for name in _SCRIPTS),
    }
    page = _asset("page.html")
    for name, content in parts.items():
        before, _, after = page.partition(f"<!--{name}-->")
        page = before + content + after
    return page


def _meta(subject: _Subject, trace: Trace) -> dict[str, Any]:
    started = subject.started
    probs = started.language_probs or {}
    likeliest = sorted(probs.items(), key=lambda item: -item[1])[:_N_LANGUAGES]
    return {
        "name": subject.name,
        "model": started.model,
        "duration": started.duration,
        "language": started.language,
        "languageProbs": [[code, round(prob, 4)] for code, prob in likeliest],
        "options": started.options,
        "peaksPerSecond": PEAKS_PER_SECOND,
        "peaks": base64.b64encode(waveform_peaks(subject.samples).tobytes()).decode("ascii"),
        "windows": window_summaries(trace),
    }


def _block_elements(blocks: Iterable[WindowBlocks]) -> Iterable[str]:
    """Each block compressed, in an element that the browser neither runs nor shows."""
    for number, block in enumerate(blocks):
        for kind in ("data", "spectrogram", "attention"):
            packed = base64.b64encode(gzip.compress(getattr(block, kind), 6, mtime=0)).decode("ascii")
            yield f'<script type="text/plain" id="{kind}-{number}">{packed}</script>'


def _script_safe(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    return text.replace("<", "\\u003c")


def _asset(name: str) -> str:
    return (files("sasayaki.inspect") / "assets" / name).read_text(encoding="utf-8")
