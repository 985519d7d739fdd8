"""The windows of a trace as the page shows them: a summary of each for the overview, and blocks to open on demand."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.inspect.decodes import Detail, TokenTexts, decode_data
from sasayaki.inspect.pictures import attention_levels, monotone_path, spectrogram_levels
from sasayaki.trace import AttentionMap, Trace, TracedDecode, WindowFinished, WindowSegment

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WindowBlocks:
    """What the page needs of one window once it is opened.

    Attributes:
        data: JSON with its attempts.
        spectrogram: levels (n_mels, n_columns), one byte each.
        attention: levels (n_tokens, n_columns) of each attempt that has them, one byte each, one behind the other.
    """

    data: bytes
    spectrogram: bytes
    attention: bytes


def to_json(value: Json) -> str:
    """Strict JSON, short."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def window_summaries(trace: Trace) -> list[Json]:
    """What the overview shows: times, text, segments and what was rejected, and how it went."""
    finished = {decode.started.decode: decode.finished for decode in trace.decodes()}
    summaries = []
    for window in trace.windows():
        kept = finished[window.kept]
        summaries.append(
            {
                "start": window.seek / 100,
                "end": window.end / 100,
                "next": window.next_seek / 100,
                "language": window.language,
                "isSilent": window.is_silent,
                "attempts": len(window.attempts),
                "text": kept.text if kept else "",
                "segments": [_segment(segment) for segment in window.segments],
                "rejected": [_segment(segment) for segment in window.rejected],
            }
        )
    return summaries


def _segment(segment: WindowSegment) -> Json:
    words = [[word.word, word.start, word.end, round(word.probability, 4)] for word in segment.words]
    return {
        "start": segment.start,
        "end": segment.end,
        "text": segment.text,
        "words": words,
        "speech": segment.speech,
        "isRecovered": segment.recovered,
        "reason": segment.rejected,
    }


def window_blocks(trace: Trace, mel: npt.NDArray[np.float32], detail: Detail) -> list[WindowBlocks]:
    """The blocks of every window.

    Args:
        trace: of a transcription.
        mel: log-mel spectrogram of the recording, (n_mels, n_frames).
        detail: what is kept of candidates and attention.
    """
    decodes = {decode.started.decode: decode for decode in trace.decodes()}
    low, high = (float(mel.min()), float(mel.max())) if mel.size else (0.0, 1.0)
    blocks = []
    for window in trace.windows():
        attempts = [_with_detail(decodes[attempt.decode], window, detail) for attempt in window.attempts]
        levels = spectrogram_levels(mel[:, window.seek : window.end], low, high)
        maps = [_cropped(decode.attention, window) for decode in attempts]
        data = {
            "columns": levels.shape[1],
            "mels": len(levels),
            **_attempts_data(window, attempts, maps, detail=detail),
        }
        attention = b"".join(attention_levels(weights).tobytes() for weights in maps if weights is not None)
        blocks.append(WindowBlocks(to_json(data).encode("utf-8", "replace"), levels.tobytes(), attention))
    return blocks


def _attempts_data(
    window: WindowFinished,
    attempts: list[TracedDecode],
    maps: list[npt.NDArray[np.float32] | None],
    *,
    detail: Detail,
) -> Json:
    texts = TokenTexts()
    shown = [
        {
            **decode_data(decode, texts, detail=detail, is_kept=attempt.decode == window.kept),
            "temperature": attempt.temperature,
            "failed": list(attempt.failed),
            "isKept": attempt.decode == window.kept,
            "attention": None if weights is None else _attention_data(decode.attention, weights),
        }
        for attempt, decode, weights in zip(window.attempts, attempts, maps, strict=True)
    ]
    return {"attempts": shown, "texts": texts.texts}


def _with_detail(decode: TracedDecode, window: WindowFinished, detail: Detail) -> TracedDecode:
    """The decode, without its attention where only that of kept ones is wanted."""
    return replace(decode, attention=None) if detail == Detail.KEPT and decode.started.decode != window.kept else decode


def _cropped(attention: AttentionMap | None, window: WindowFinished) -> npt.NDArray[np.float32] | None:
    """Attention to the part of the window that is audio, (n_tokens, n_columns)."""
    return None if attention is None else attention.weights()[:, : -(-(window.end - window.seek) // 2)]


def _attention_data(attention: AttentionMap | None, weights: npt.NDArray[np.float32]) -> Json:
    heads = attention.heads if attention else ()
    return {"heads": [list(head) for head in heads], "columns": weights.shape[1], "path": monotone_path(weights)}
