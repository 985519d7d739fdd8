"""Cuts the tokens of a window into segments at their timestamps, and says where the next window starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sasayaki.audio.constants import FRAMES_PER_SECOND, TOKENS_PER_SECOND

SECONDS_PER_TIMESTAMP = 1 / TOKENS_PER_SECOND
FRAMES_PER_TIMESTAMP = FRAMES_PER_SECOND // TOKENS_PER_SECOND


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A run of tokens with its times, in seconds from the start of the window."""

    start: float
    end: float
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WindowSplit:
    """Segments of a window.

    Attributes:
        spans: the segments in the order of time.
        advance: frames from the start of this window to that of the next, at least one.
    """

    spans: tuple[TokenSpan, ...]
    advance: int


def split_window(tokens: Sequence[int], *, timestamp_begin: int, n_frames: int, is_whole: bool = False) -> WindowSplit:
    """Cut at pairs of timestamps, with openai/whisper's rules.

    - A pair of timestamps ends a segment and starts the next one. Text after the last pair that has no end of its
      own is left to the next window, which starts at that pair.
    - If the window ends in text and one timestamp, or has no pair at all, the next window follows it directly.
    - Without a pair the window is one segment, up to its last timestamp if that is not 0.00, else up to its end.

    No time lies past the window: segments that do are moved into it, and keep their text and their order.

    Args:
        tokens: sampled tokens of the window, without the end token.
        timestamp_begin: id of `<|0.00|>`.
        n_frames: frames of audio in the window, 100 a second, padding not counted.
        is_whole: whether nothing is left to a next window: text without an end goes up to the window's.
    """
    is_time = [token >= timestamp_begin for token in tokens]
    cuts = [place for place in range(1, len(tokens)) if is_time[place - 1] and is_time[place]]
    if not cuts:
        last = next((token for token in reversed(tokens) if token >= timestamp_begin), timestamp_begin)
        end = (last - timestamp_begin) * SECONDS_PER_TIMESTAMP or n_frames / FRAMES_PER_SECOND
        return WindowSplit(_within([TokenSpan(0.0, end, tuple(tokens))], n_frames), n_frames)
    is_complete = ends_with_single_timestamp(tokens, timestamp_begin)
    if is_complete:
        cuts.append(len(tokens))
    spans = [_span(tuple(tokens[begin:end]), timestamp_begin) for begin, end in zip([0, *cuts], cuts, strict=False)]
    if is_whole and not is_complete:
        rest = tuple(tokens[cuts[-1] :])
        start = (rest[0] - timestamp_begin) * SECONDS_PER_TIMESTAMP
        open_end = TokenSpan(start, max(start + SECONDS_PER_TIMESTAMP, n_frames / FRAMES_PER_SECOND), rest)
        return WindowSplit(_within([*spans, open_end], n_frames), n_frames)
    closed = (tokens[cuts[-1] - 1] - timestamp_begin) * FRAMES_PER_TIMESTAMP
    return WindowSplit(_within(spans, n_frames), n_frames if is_complete or closed == 0 else closed)


def ends_with_single_timestamp(tokens: Sequence[int], timestamp_begin: int) -> bool:
    """Whether the last token is a timestamp and the one before it is text: the model heard nothing behind it."""
    return [token >= timestamp_begin for token in tokens[-2:]] == [False, True]


def _span(tokens: tuple[int, ...], timestamp_begin: int) -> TokenSpan:
    start, end = (max(0, token - timestamp_begin) * SECONDS_PER_TIMESTAMP for token in (tokens[0], tokens[-1]))
    return TokenSpan(start, end, tokens)


def _within(spans: Sequence[TokenSpan], n_frames: int) -> tuple[TokenSpan, ...]:
    """Spans moved into the window, and before those behind them; one with a length keeps a timestamp step of it.

    Where there is no room for as much, they share what there is.
    """
    latest = n_frames / FRAMES_PER_SECOND
    n_before = sum(span.end > span.start for span in spans)
    step = min(SECONDS_PER_TIMESTAMP, latest / max(n_before, 1))
    placed: list[TokenSpan] = []
    for span in reversed(spans):
        if span.end > span.start:
            n_before -= 1
            end = max(min(span.end, latest), (n_before + 1) * step)
            latest = max(min(span.start, end - step), n_before * step)
            span = TokenSpan(latest, end, span.tokens)
        placed.append(span)
    return tuple(reversed(placed))
