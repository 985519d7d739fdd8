"""Words of a window with their times: from the attention of the decoder and the sound of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sasayaki.alignment.attention import Matrix, contrast, token_scores
from sasayaki.alignment.dtw import find_path
from sasayaki.alignment.levels import Levels
from sasayaki.alignment.pauses import find_stretches
from sasayaki.alignment.word_groups import WordGroup
from sasayaki.audio.constants import FRAMES_PER_SECOND, TOKENS_PER_SECOND

_FRAMES_PER_STEP = FRAMES_PER_SECOND // TOKENS_PER_SECOND

_SPEECH_LEVEL = 1.5
"""Sound level at which a moment is as likely within a word as in a pause."""

_FADING_LEVEL = 0.5
"""A word that began goes on down to this level."""

_SILENCE_COST, _PAUSE_GAIN = 4.0, 2.0
"""In nats: what a token loses in a silent step, and what a pause gains there. A loud step is nothing to a pause: there
are sounds that no word of the text stands for."""

_VOICELESS_DOUBT = 0.75
"""How far a moment without voice activity is taken for silence, however loud it is: not wholly, as quiet speech and
singing are missed at times."""

_PUNCTUATION_SHARE = 0.5
"""What the score of a punctuation mark is worth beside that of a pause."""

_EARLIER_FRAMES, _LATER_FRAMES = 10, 20
"""How far a word may grow into a pause before it and after it."""

_LEAST_STEPS = 2
"""Fewest steps of a token."""


@dataclass(frozen=True, slots=True)
class WordTime:
    """Where a word of a window is, in seconds from the start of the window.

    Attributes:
        start: of its first sound.
        end: of its last sound.
        sounding: share of the time between that is louder than the background.
    """

    start: float
    end: float
    sounding: float = 1.0


def time_words(
    groups: Sequence[WordGroup],
    weights: npt.ArrayLike,
    lags: Sequence[float],
    levels: Levels,
    voiced: npt.NDArray[np.bool_] | None = None,
) -> list[WordTime]:
    """Times of all words of a window.

    1. Score each token at each moment by attention, and each pause by silence and missing voices.
    2. Find the likeliest way through tokens and pauses; punctuation counts as a pause.
    3. Move starts and ends beside pauses to where the sound starts and ends.

    Args:
        groups: the words in order.
        weights: (n_head, n_token + 1, n_audio_ctx) attention of the positions that predict each token of the groups,
            and then the end.
        lags: of each head, in seconds.
        levels: sound level of each frame of the window, (n_frames,).
        voiced: whether there is voice activity in each frame, (n_frames,); None where nobody listened.

    Returns:
        A time for each word; times never go back and stay within the window. When the window is too short for its
        tokens they share it in equal parts.
    """
    if not groups:
        return []
    n_frames = len(levels)
    n_steps = -(-n_frames // _FRAMES_PER_STEP)
    rows = _Rows.of(groups)
    spans = None
    if n_steps >= len(groups):
        silence = _silence(levels, n_steps)
        if voiced is not None:
            silence += _VOICELESS_DOUBT * (1 - silence) * (1 - _of_steps(voiced.astype(np.float64), n_steps))
        scores = _row_scores(rows, token_scores(weights, lags, silence)[:-1], silence)
        for least in (_LEAST_STEPS, 1):
            stretches = find_stretches(scores, rows.is_pause, least=least)
            if stretches is not None:
                spans = [(stretches[first].start, stretches[last].end) for first, last in rows.words]
                break
    if spans is None:
        edges = np.linspace(0, n_frames / FRAMES_PER_SECOND, len(groups) + 1).round(3)
        return [WordTime(float(start), float(end)) for start, end in pairwise(edges)]
    frames = [(first * _FRAMES_PER_STEP, min(last * _FRAMES_PER_STEP, n_frames)) for first, last in spans]
    return [_word_time(start, end, levels) for start, end in _fit_to_sound(frames, levels)]


def time_words_by_attention(groups: Sequence[WordGroup], weights: npt.ArrayLike, n_frames: int) -> list[WordTime]:
    """Times of all words as openai/whisper finds them, by dynamic time warping alone.

    Args:
        groups: the words in order.
        weights: (n_head, 1 + n_token + 1, n_audio_ctx) attention of the position that predicts each token, with
            those before, which only count for the standard that they are measured by.
        n_frames: length of the window.
    """
    n_steps = n_frames // _FRAMES_PER_STEP
    sizes = [len(group.tokens) for group in groups]
    if not sizes or not n_steps:
        return [WordTime(0.0, 0.0)] * len(groups)
    matrix = contrast(weights, n_steps)[-sum(sizes) - 2 : -1]
    jumps = find_path(-matrix).first_columns() / TOKENS_PER_SECOND
    borders = np.cumsum([0, *sizes])
    return [WordTime(float(jumps[a]), float(jumps[b])) for a, b in pairwise(borders)]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of the matrix: a pause, the tokens of a word, a pause, and so on.

    Attributes:
        tokens: index of the token of each row; -1 in a pause.
        is_pause: whether a row is a pause or a punctuation mark.
        words: first and last row of the spoken tokens of each word.
    """

    tokens: tuple[int, ...]
    is_pause: tuple[bool, ...]
    words: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, groups: Sequence[WordGroup]) -> _Rows:
        tokens, is_pause, words = [-1], [True], []
        n_token = 0
        for group in groups:
            first = len(tokens) + group.n_before
            last = len(tokens) + len(group.tokens) - group.n_after - 1
            words.append((first, last))
            for row in range(len(tokens), len(tokens) + len(group.tokens)):
                tokens.append(n_token)
                is_pause.append(not first <= row <= last)
                n_token += 1
            tokens.append(-1)
            is_pause.append(True)
        return cls(tuple(tokens), tuple(is_pause), tuple(words))


def _silence(levels: Levels, n_steps: int) -> npt.NDArray[np.float64]:
    """From 0 for sound to 1 for silence, of each step."""
    return np.asarray(1 / (1 + np.exp(2 * (_of_steps(levels, n_steps) - _SPEECH_LEVEL))))


def _of_steps(frames: npt.NDArray[np.float64], n_steps: int) -> npt.NDArray[np.float64]:
    """Mean of the frames of each step; the last frame stands for those that are missing."""
    padded = np.pad(frames, (0, n_steps * _FRAMES_PER_STEP - len(frames)), mode="edge")
    return np.asarray(padded.reshape(n_steps, _FRAMES_PER_STEP).mean(axis=1))


def _row_scores(rows: _Rows, tokens: Matrix, silence: npt.NDArray[np.float64]) -> Matrix:
    pause = _PAUSE_GAIN * np.maximum(2 * silence - 1, 0.0)
    spoken = tokens - _SILENCE_COST * silence
    punctuation = np.maximum(_PUNCTUATION_SHARE * tokens, pause)
    return np.stack(
        [
            pause if token < 0 else punctuation[token] if is_pause else spoken[token]
            for token, is_pause in zip(rows.tokens, rows.is_pause, strict=True)
        ]
    )


def _fit_to_sound(frames: Sequence[tuple[int, int]], levels: Levels) -> list[tuple[int, int]]:
    """Words with starts and ends beside a pause moved to where the sound starts and ends.

    A word grows as long as there is sound, or shrinks past silence, but keeps three frames.
    """
    fitted: list[tuple[int, int]] = []
    for place, (start, end) in enumerate(frames):
        before = fitted[-1][1] if fitted else 0
        after = frames[place + 1][0] if place + 1 < len(frames) else len(levels)
        if start > before or not fitted:
            start = _sound_start(levels, start, earliest=max(before, start - _EARLIER_FRAMES), latest=end - 3)
        if end < after or place + 1 == len(frames):
            end = _sound_end(levels, end, earliest=start + 3, latest=min(after, end + _LATER_FRAMES))
        fitted.append((start, end))
    return fitted


def _sound_start(levels: Levels, start: int, *, earliest: int, latest: int) -> int:
    grown = start
    while grown > earliest and levels[grown - 1] > _SPEECH_LEVEL:
        grown -= 1
    if grown < start:
        return grown
    loud = np.flatnonzero(levels[start : max(start, latest)] > _SPEECH_LEVEL)
    return start + int(loud[0]) if len(loud) else start


def _sound_end(levels: Levels, end: int, *, earliest: int, latest: int) -> int:
    grown = end
    while grown < latest and levels[grown] > _FADING_LEVEL:
        grown += 1
    if grown > end:
        return grown
    loud = np.flatnonzero(levels[earliest : max(earliest, end)] > _FADING_LEVEL)
    return earliest + int(loud[-1]) + 1 if len(loud) else end


def _word_time(start: int, end: int, levels: Levels) -> WordTime:
    sounding = float(np.mean(levels[start:end] > _FADING_LEVEL)) if end > start else 0.0
    return WordTime(start / FRAMES_PER_SECOND, end / FRAMES_PER_SECOND, sounding)
