"""Text that nobody said: what speaks against a segment, and why it is rejected."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sasayaki.audio.constants import FRAMES_PER_SECOND
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult, Segment
from sasayaki.transcribe.fallback import Fallback
from sasayaki.transcribe.repetition import MIN_TURNS, is_repetition, n_turns
from sasayaki.transcribe.requests import Asking, Window
from sasayaki.transcribe.silence import UNSURE_OF_SPEECH, is_silent, is_sure
from sasayaki.transcribe.sound_check import SAME_SOUND, recurrence_of
from sasayaki.vad.voice import Voice

UNSURE_OF_SOUND = 0.35
"""Above this it does so for a text in which hardly a word can be right: laughter has 0.37 (tiny.en)."""

LITTLE_VOICE, SOME_VOICE = 0.1, 0.4
"""Shares of a segment's time: voices that take less are hardly there, or too rare for a text that has failed."""

MARGIN = 0.2
"""Seconds by which a segment's time is widened when voice and sound are looked for in it: timestamps are coarse."""

SURE_OF_NO_SPEECH = 0.6
"""A no-speech probability above this makes a text below `UNSURE_OF_TEXT` a guess."""

UNSURE_OF_TEXT = -0.8
"""An average log-probability below this."""

SURELY_WRONG = 0.1
"""Fewer of the words than this share are expected to be right."""

MAX_CHARACTERS_PER_SECOND = 30
"""A text that is longer for the speech in its time cannot have been said in it: *Have a nice day.* in 0.4 s."""

SAID_BYTES_PER_SECOND, LONG_SPEECH = 4, 3.0
"""An unlikely text with fewer bytes (UTF-8) for each of so many seconds of speech or more in its window was not said
there, but is about music: *Music*, *Thank you.* Nothing said in speech/open has fewer than 6.2, and that is likely."""

_ANNOTATION = re.compile(r"[\[【][^\]】]*[\]】]?")
"""What Whisper writes in square brackets is a sound or a title, and not said: *[Music]*."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a segment beside its text.

    Attributes:
        is_silent: whether its window is silence by openai/whisper's rule.
        no_speech_prob: no-speech probability of its window.
        avg_logprob: mean log-probability per token of its window.
        has_failed: whether no attempt at its window passed the thresholds.
        confidence: share of its words that are expected to be right; NaN when that is not known.
        speech: seconds of voice activity in its time; NaN when nobody listened.
        duration: seconds of its time.
        has_words: whether its text has a letter or a digit outside of square brackets.
        n_characters: length of its text.
        says_little: whether there is long speech in its window, and hardly any text.
        is_repetition: whether its window says a word again and again, and so does its sound, or stretches of speech
            are alike and as many.
    """

    is_silent: bool
    no_speech_prob: float
    avg_logprob: float
    has_failed: bool
    confidence: float = math.nan
    speech: float = math.nan
    duration: float = 0.0
    has_words: bool = True
    n_characters: int = 0
    says_little: bool = False
    is_repetition: bool = False


def reason_against(evidence: Evidence) -> str:
    """Why a segment is rejected; empty when it is kept.

    - `no_speech_threshold`: its window is silence by the rule of that name.
    - `no_voice`: nobody speaks in its time and the model has some doubt, or somebody speaks in less than `LITTLE_VOICE`
      of it and the model leans to silence.
    - `no_words`: it is made of punctuation, or of what stands in square brackets.
    - `guess`: there is a voice, but no attempt passed the thresholds and the model leans to silence (a little is
      enough where hardly a word can be right), or the voice is rare or too short for so much text; or the text is
      unlikely, and the model sure of silence or the voice too long for so little text. Text that repeats itself as the
      sound or the voices do is no guess.

    Without voice activity detection only the first reason is given.
    """
    if evidence.is_silent:
        return "no_speech_threshold"
    if math.isnan(evidence.speech):
        return ""
    if evidence.speech == 0 and not is_sure(evidence.no_speech_prob, evidence.avg_logprob):
        return "no_voice"
    if not evidence.has_words:
        return "no_words"
    leans_to_silence = evidence.no_speech_prob > UNSURE_OF_SPEECH
    if evidence.speech < LITTLE_VOICE * evidence.duration and leans_to_silence:
        return "no_voice"
    if evidence.is_repetition:
        return ""
    is_unlikely = evidence.avg_logprob < UNSURE_OF_TEXT and (
        evidence.no_speech_prob > SURE_OF_NO_SPEECH or evidence.says_little
    )
    return "guess" if is_unlikely or (evidence.has_failed and (leans_to_silence or _is_doubtful(evidence))) else ""


def _is_doubtful(evidence: Evidence) -> bool:
    is_wrong = evidence.confidence < SURELY_WRONG and evidence.no_speech_prob > UNSURE_OF_SOUND
    is_too_long = evidence.n_characters > MAX_CHARACTERS_PER_SECOND * evidence.speech
    return is_wrong or is_too_long or evidence.speech < SOME_VOICE * evidence.duration


def judge(
    segments: Sequence[Segment], kept: Fallback, voice: Voice | None, options: TranscribeOptions, window: Window
) -> Asking[tuple[tuple[Segment, ...], tuple[Segment, ...]]]:
    """The segments of a window that are kept, and those that are rejected with their reason, both numbered anew.

    A rejected segment has the number of the kept one that follows it.
    """
    is_repeated = (yield from _is_repeated(segments, kept.result.text, voice)) if voice and segments else False
    says_little = voice is not None and _says_little(kept.result.text, voice, window)
    held: list[Segment] = []
    rejected: list[Segment] = []
    for segment in segments:
        evidence = replace(_evidence(segment, kept, voice, options), is_repetition=is_repeated, says_little=says_little)
        judged = replace(
            segment,
            id=segments[0].id + len(held),
            speech=evidence.speech,
            rejected=reason_against(evidence),
        )
        (rejected if judged.rejected else held).append(judged)
    return tuple(held), tuple(rejected)


def _says_little(text: str, voice: Voice, window: Window) -> bool:
    speech = voice.seconds(window.start / FRAMES_PER_SECOND, window.end / FRAMES_PER_SECOND)
    return speech >= LONG_SPEECH and len(text.strip().encode()) < SAID_BYTES_PER_SECOND * speech


def _is_repeated(segments: Sequence[Segment], text: str, voice: Voice) -> Asking[bool]:
    if is_repetition(text, voice.within(segments[0].start - MARGIN, segments[-1].end + MARGIN)):
        return True
    if n_turns(text) < MIN_TURNS:
        return False
    recurrence = yield from recurrence_of(segments[0].start - MARGIN, segments[-1].end + MARGIN)
    return recurrence >= SAME_SOUND


def _evidence(segment: Segment, kept: Fallback, voice: Voice | None, options: TranscribeOptions) -> Evidence:
    result: DecodingResult = kept.result
    return Evidence(
        is_silent=is_silent(result, options),
        no_speech_prob=result.no_speech_prob,
        avg_logprob=result.avg_logprob,
        has_failed=all(attempt.failed for attempt in kept.attempts),
        confidence=segment.confidence,
        speech=voice.seconds(segment.start - MARGIN, segment.end + MARGIN) if voice else math.nan,
        duration=segment.end - segment.start,
        n_characters=len(segment.text.strip()),
        has_words=any(character.isalnum() for character in _ANNOTATION.sub("", segment.text)),
    )
