"""Times for a text that is known: which of its words are said in a window, where, and where the next window starts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from sasayaki.alignment.heads import AlignmentHeads
from sasayaki.alignment.word_groups import WordGroup, group_words
from sasayaki.alignment.words import WordTime, time_words
from sasayaki.audio.constants import FRAMES_PER_SECOND, N_FRAMES
from sasayaki.errors import OptionError
from sasayaki.languages import UNSPACED_LANGUAGES
from sasayaki.options import TranscribeOptions
from sasayaki.results import AlignedWord
from sasayaki.text.tokenizer import Tokenizer
from sasayaki.transcribe.requests import Asking, Attend, Hear, Score, Window

_LINE_ENDS = re.compile(r"\n|(?<=[.!?…])\s+|(?<=[。！？])")

_SAID_LOGPROB = -2.5
"""A token that is as likely as this is as likely said as not, in nats; one is no evidence of more than this."""

_SWITCH_COST = 3.0
"""What it costs to begin or end a run of words that are not said, in nats."""

_WRONG_LOGPROB = -10.0
"""A word with a token below this is not what is said there: words that are said stay above it, wrong ones below."""

_UNSURE_SECONDS = 0.5
"""Words that end so near the end of a window may go on, or belong behind it: the next window tells."""


_LEAST_FRAMES = 2
"""Frames that a word takes at least: more words than a window has room for are not said in it."""


@dataclass(frozen=True, slots=True)
class Text:
    """A transcript as words.

    Attributes:
        groups: its words in order.
        lines: number of the line or sentence that each is in.
        tokenizer: of its language.
    """

    groups: tuple[WordGroup, ...]
    lines: tuple[int, ...]
    tokenizer: Tokenizer

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer) -> Text:
        """Read a transcript; lines end where it has them and behind sentences.

        Raises:
            OptionError: it is no text, or there are no words in it.
        """
        if not isinstance(text, str):
            raise OptionError(f"text must be what is said in the recording, as str, got {text!r}")
        space = "" if tokenizer.language in UNSPACED_LANGUAGES else " "
        marks = TranscribeOptions()
        pairs: list[tuple[int, WordGroup]] = []
        for number, line in enumerate(each for each in _LINE_ENDS.split(text) if each.strip()):
            tokens = tokenizer.encode(space + " ".join(line.split()))
            groups = group_words(
                tokens, tokenizer, prepended=marks.prepend_punctuations, appended=marks.append_punctuations
            )
            pairs += [(number, group) for group in groups]
        if not pairs:
            raise OptionError("expected the text of the recording, got one without words")
        return cls(tuple(group for _, group in pairs), tuple(number for number, _ in pairs), tokenizer)


@dataclass(frozen=True, slots=True)
class AlignmentWork:
    """What is to be aligned.

    Attributes:
        text: the words.
        content_frames: length of the recording, 100 frames a second.
        n_text_ctx: most tokens that the decoder can be fed.
        heads: whose attention gives the times.
    """

    text: Text
    content_frames: int
    n_text_ctx: int
    heads: AlignmentHeads

    def fits(self, group: WordGroup) -> bool:
        """Whether the decoder can be fed a word: not if it is longer than its context."""
        return len(self.text.tokenizer.sot_sequence_including_notimestamps) + len(group.tokens) < self.n_text_ctx

    def words_from(self, first: int) -> tuple[WordGroup, ...]:
        """As many words as fill half of the decoder's context, at least one that fits; others take no room."""
        groups = self.text.groups[first:]
        sizes = list(accumulate(len(group.tokens) if self.fits(group) else 0 for group in groups))
        least = next((number for number, size in enumerate(sizes, start=1) if size), len(groups))
        return groups[: max(least, sum(size <= self.n_text_ctx // 2 for size in sizes))]


@dataclass(frozen=True, slots=True)
class Aligned:
    """What a window gave.

    Attributes:
        words: of the text, from the first that was looked for on, which are settled.
        seek: first frame of the next window.
    """

    words: tuple[AlignedWord, ...]
    seek: int


def align_window(work: AlignmentWork, first: int, seek: int) -> Asking[Aligned]:
    """Look for the words from number `first` on in the window that starts at frame `seek`.

    Settled are those up to the last that is surely in the window; at the end of the recording all that were looked for.
    The next window starts behind the last word, or after half a window in which there is none.
    """
    window = Window(seek, min(seek + N_FRAMES, work.content_frames))
    is_last = window.end == work.content_frames
    found = yield from _look_for(work, window, work.words_from(first))
    latest = window.n_frames / FRAMES_PER_SECOND - (0.0 if is_last else _UNSURE_SECONDS)
    ends = [time.end if time and time.end <= latest else None for time in found.times]
    sure = [place for place, end in enumerate(ends) if end is not None]
    n_settled = sure[-1] + 1 if sure else len(ends) if is_last else 0
    words = tuple(
        _placed(work.text, first + place, found.times[place], found.probabilities[place], seek / FRAMES_PER_SECOND)
        for place in range(n_settled)
    )
    last = max((end for end in ends if end is not None), default=None)
    if last is not None:
        return Aligned(words, seek + max(1, math.ceil(round(last * FRAMES_PER_SECOND, 3))))
    return Aligned(words, window.end if is_last else seek + N_FRAMES // 2)


def not_found(text: Text, first: int) -> tuple[AlignedWord, ...]:
    """The words from number `first` on, for which no audio is left."""
    return tuple(_placed(text, place, None, 0.0, 0.0) for place in range(first, len(text.groups)))


@dataclass(frozen=True, slots=True)
class _Found:
    """Of each word: its time in seconds from the start of the window, or None if it is not said; its probability."""

    times: list[WordTime | None]
    probabilities: list[float]


def _look_for(work: AlignmentWork, window: Window, groups: Sequence[WordGroup]) -> Asking[_Found]:
    times: list[WordTime | None] = [None] * len(groups)
    probabilities = [0.0] * len(groups)
    places = [place for place, group in enumerate(groups) if work.fits(group)]
    if not places:
        return _Found(times, probabilities)
    scores = yield from _score(work, window, [groups[place] for place in places])
    for place, each in zip(places, scores, strict=True):
        probabilities[place] = float(np.exp(each).mean())
    wrong = wrong_words(scores)
    if wrong:  # what stands behind a wrong word is judged without it
        places = [place for number, place in enumerate(places) if number not in wrong]
        scores = yield from _score(work, window, [groups[place] for place in places])
    for place, each in zip(places, scores, strict=True):
        probabilities[place] = float(np.exp(each).mean())
    said = [number for number, is_said in enumerate(said_words(scores)) if is_said]
    if said and len(said) * _LEAST_FRAMES <= window.n_frames:
        found = yield from _times(work, window, [groups[place] for place in places], said)
        for number, time in zip(said, found, strict=True):
            times[places[number]] = time
    return _Found(times, probabilities)


def _score(work: AlignmentWork, window: Window, groups: Sequence[WordGroup]) -> Asking[list[npt.NDArray[np.float64]]]:
    """Log-probabilities of the tokens of each word, without its punctuation."""
    initial = work.text.tokenizer.sot_sequence_including_notimestamps
    tokens = (*initial, *(token for group in groups for token in group.tokens))
    logprobs = yield Score(window, tokens, begin=len(initial))
    return [
        logprobs[first + group.n_before : end - group.n_after]
        for (first, end), group in zip(_borders(groups), groups, strict=True)
    ]


def _times(
    work: AlignmentWork, window: Window, groups: Sequence[WordGroup], said: Sequence[int]
) -> Asking[list[WordTime]]:
    """Times of those of the words that are said."""
    tokenizer = work.text.tokenizer
    initial = tokenizer.sot_sequence_including_notimestamps
    tokens = (*initial, *(token for group in groups for token in group.tokens), tokenizer.eot)
    weights = yield Attend(window, tokens, work.heads.pairs)
    levels = yield Hear(window)
    borders = _borders(groups)
    rows = [row for place in said for row in range(*borders[place])]
    chosen = weights[:, [len(initial) - 1 + row for row in (*rows, rows[-1] + 1)]]
    return time_words([groups[place] for place in said], chosen, work.heads.lags, levels)


def _borders(groups: Sequence[WordGroup]) -> list[tuple[int, int]]:
    """First token of each word, and the one behind its last."""
    return list(pairwise(accumulate((len(group.tokens) for group in groups), initial=0)))


def wrong_words(logprobs: Sequence[npt.NDArray[np.float64]]) -> set[int]:
    """Which words are surely not what is said between words that are.

    Behind such a word the next one is unlikely, too, so of several in a row every other is named.

    Args:
        logprobs: of the tokens of each word, given the audio and all words before.
    """
    last = max((place for place, is_said in enumerate(said_words(logprobs)) if is_said), default=0)
    wrong: set[int] = set()
    for place, each in enumerate(logprobs[:last]):
        if place - 1 not in wrong and np.min(each, initial=0.0) < _WRONG_LOGPROB:
            wrong.add(place)
    return wrong


def said_words(logprobs: Sequence[npt.NDArray[np.float64]]) -> list[bool]:
    """Which words are said, as the likeliest way through runs of said and of other words (Viterbi, 1967).

    Args:
        logprobs: of the tokens of each word, given the audio and all words before.
    """
    said, other = 0.0, 0.0
    came_from: list[tuple[bool, bool]] = []
    for each in logprobs:
        gain = float(np.sum(np.maximum(each, 2 * _SAID_LOGPROB) - _SAID_LOGPROB))
        came_from.append((said >= other - _SWITCH_COST, said - _SWITCH_COST > other))
        said, other = max(said, other - _SWITCH_COST) + gain, max(other, said - _SWITCH_COST)
    state, states = said > other, []
    for from_said, from_other in reversed(came_from):
        states.append(state)
        state = from_said if state else from_other
    return states[::-1]


def _placed(text: Text, place: int, time: WordTime | None, probability: float, offset: float) -> AlignedWord:
    start, end = (None, None) if time is None else (round(offset + time.start, 3), round(offset + time.end, 3))
    return AlignedWord(
        word=text.groups[place].text, start=start, end=end, probability=probability, line=text.lines[place]
    )
