"""Temperature fallback: a window is decoded again, hotter, until its result passes the thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sasayaki.options import TranscribeOptions
from sasayaki.results import Attempt, DecodingResult
from sasayaki.transcribe.repetition import is_repetition
from sasayaki.transcribe.requests import Asking, Decode
from sasayaki.transcribe.silence import is_silent
from sasayaki.vad.regions import Region


@dataclass(frozen=True, slots=True)
class Fallback:
    """The result that is kept for a window, and every attempt that was made."""

    result: DecodingResult
    attempts: tuple[Attempt, ...]


def decode_with_fallback(
    ladder: Iterable[Decode], options: TranscribeOptions, spoken: Sequence[Region] = ()
) -> Asking[Fallback]:
    """Ask for each step of the ladder in turn until one result passes.

    When none passes, the best is kept: among those whose compression ratio passes the one with the highest average
    log-probability, else the one with the lowest compression ratio. `spoken` is where there is speech in the window.
    """
    tried: list[tuple[DecodingResult, tuple[str, ...]]] = []
    for step in ladder:
        result: DecodingResult = yield step
        failed = failed_checks(result, options, spoken)
        tried.append((result, failed))
        if not failed:
            break
    results = [result for result, failed in tried if not failed] or [
        best_failure([r for r, _ in tried], options, spoken)
    ]
    return Fallback(results[0], tuple(make_attempt(result, failed) for result, failed in tried))


def failed_checks(result: DecodingResult, options: TranscribeOptions, spoken: Sequence[Region] = ()) -> tuple[str, ...]:
    """Names of the thresholds that the result does not pass; a silent window passes all.

    A loop that was cut fails `loop_guard` unless a segment ended before it: nothing says where speech goes on. A text
    that repeats itself passes where somebody does, by the stretches of speech in the window.
    """
    if is_silent(result, options):
        return ()
    failed = []
    if result.hypotheses and result.hypotheses[0].stop == "loop":
        failed.append("loop_guard")
    if _is_repetitive(result, options, spoken):
        failed.append("compression_ratio_threshold")
    if options.logprob_threshold is not None and result.avg_logprob < options.logprob_threshold:
        failed.append("logprob_threshold")
    return tuple(failed)


def best_failure(
    results: list[DecodingResult], options: TranscribeOptions, spoken: Sequence[Region] = ()
) -> DecodingResult:
    """The least bad of results that all failed; the first of equals."""
    unrepetitive = [result for result in results if not _is_repetitive(result, options, spoken)]
    if unrepetitive:
        return max(unrepetitive, key=lambda result: result.avg_logprob)
    return min(results, key=lambda result: result.compression_ratio)


def _is_repetitive(result: DecodingResult, options: TranscribeOptions, spoken: Sequence[Region]) -> bool:
    limit = options.compression_ratio_threshold
    return limit is not None and result.compression_ratio > limit and not is_repetition(result.text, spoken)


def make_attempt(result: DecodingResult, failed: tuple[str, ...]) -> Attempt:
    """The record of one decode and the thresholds that it did not pass."""
    return Attempt(
        temperature=result.temperature,
        avg_logprob=result.avg_logprob,
        compression_ratio=result.compression_ratio,
        no_speech_prob=result.no_speech_prob,
        failed=failed,
    )
