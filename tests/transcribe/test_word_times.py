"""Word times in the loop: what is asked, what segments get, where the next window starts, and silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki import TranscribeOptions
from sasayaki.alignment.heads import AlignmentHeads
from sasayaki.results import DecodingResult, Hypothesis, Segment
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import Attend, Decode, Hear, WindowResult
from sasayaki.transcribe.word_times import next_speech
from sasayaki.vad.regions import Region
from sasayaki.vad.voice import Voice
from tests.fakes import EOT, TIMESTAMP_BEGIN, byte_tokenizer, text, ts
from tests.transcribe.scripted_decoder import result

HEADS = AlignmentHeads(((0, 0),), (0.04,))
SOT_SEQUENCE = byte_tokenizer().sot_sequence

Spoken = Sequence[tuple[float, float]]
"""Start and end of each sound of a recording, in seconds."""


class Speaker:
    """Answers the loop: windows say what they are told to, and words are where the sounds are.

    Attention of the tokens of the n-th word looks at the n-th sound behind the start of the window.
    """

    def __init__(self, says: Sequence[Sequence[int] | DecodingResult], sounds: Spoken) -> None:
        self.says = list(says)
        self.sounds = sounds
        self.starts: list[int] = []
        self.asked: list[Attend] = []

    def answer(self, request: Any) -> Any:
        window = request.window
        match request:
            case Decode():
                said = self.says[min(len(self.starts), len(self.says) - 1)]
                self.starts.append(window.start)
                return said if isinstance(said, DecodingResult) else result(said)
            case Hear():
                levels = np.zeros(window.n_frames)
                for start, end in self._heard(window):
                    levels[max(0, round(start * 100)) : round(end * 100)] = 10.0
                return levels
            case Attend():
                self.asked.append(request)
                return self._attention(window, request.tokens)

    def _heard(self, window: Any) -> Spoken:
        begin = window.start / 100
        return [(start - begin, end - begin) for start, end in self.sounds if end > begin + 0.05]

    def _attention(self, window: Any, tokens: Sequence[int]) -> np.ndarray:
        weights = np.full((1, len(tokens), 1500), 1e-6)
        heard = [*self._heard(window), (29.9, 30.0)]
        words: list[list[int]] = []
        for row, token in enumerate(tokens[len(SOT_SEQUENCE) + 1 :], start=len(SOT_SEQUENCE)):
            if token in (32, EOT) or not words:
                words.append([])
            words[-1].append(row)
        for place, rows in enumerate(words):
            start, end = heard[min(place, len(heard) - 1)]
            for row, at in zip(rows, np.linspace(start * 50 + 1, end * 50 - 2, len(rows) + 1), strict=False):
                weights[0, row, min(max(0, int(at)), 1496) :][:4] = 0.1
        return weights

    def transcribe(self, content_frames: int, **options: Any) -> list[Segment]:
        settled = TranscribeOptions(**{"word_timestamps": True, "temperature": 0.0, "vad": "off"} | options)
        work = Assignment(content_frames, settled, byte_tokenizer(), n_text_ctx=448, heads=HEADS)
        loop = transcribe_recording(work, work.begin())
        segments: list[Segment] = []
        answer: Any = None
        while True:
            try:
                step = loop.send(answer)
            except StopIteration:
                return segments
            answer = None if isinstance(step, WindowResult) else self.answer(step)
            if isinstance(step, WindowResult):
                segments += step.segments


def timed(segment: Segment) -> list[tuple[str, float, float]]:
    return [(word.word, word.start, word.end) for word in segment.words]


THREE = [(1.0, 1.3), (1.5, 1.9), (4.0, 4.4)]
SAID = (ts(0), *text(" one two,"), ts(2), ts(2), *text(" six."), ts(5))


def test_segments_get_their_words_and_start_and_end_with_them() -> None:
    speaker = Speaker([SAID], THREE)
    first, second = speaker.transcribe(600)
    assert timed(first) == [(" one", 1.0, 1.3), (" two,", 1.5, 1.9)]
    assert timed(second) == [(" six.", 4.0, 4.4)]
    assert [(each.start, each.end) for each in (first, second)] == [(1.0, 1.9), (4.0, 4.4)]
    assert speaker.asked[0].heads == HEADS.pairs
    assert speaker.asked[0].tokens[-1] == EOT
    assert not any(token >= TIMESTAMP_BEGIN for token in speaker.asked[0].tokens)


def test_words_have_the_mean_probability_of_their_tokens() -> None:
    tokens = (ts(0), *text(" a, b"), ts(5))
    logprobs = np.log([0.9, 0.5, 0.7, 0.1, 0.2, 0.4, 0.9])
    best = Hypothesis(
        tokens=tokens, text=" a, b", sum_logprob=-1.0, score=-1.0, stop="eot",
        token_logprobs=tuple(logprobs), token_raw_logprobs=tuple(logprobs),
    )  # fmt: skip
    said = DecodingResult(
        audio_features=None, language="en", tokens=tokens, text="a, b", avg_logprob=-0.2, no_speech_prob=0.0,
        temperature=0.0, compression_ratio=1.0, hypotheses=(best,),
    )  # fmt: skip
    (segment,) = Speaker([said], [(1.0, 1.2), (2.0, 2.3)]).transcribe(500)
    assert [word.probability for word in segment.words] == pytest.approx([0.6, 0.3])


@pytest.mark.parametrize("empty", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_segments_without_text_are_no_trouble(empty: tuple[int, ...]) -> None:
    """B76, B77: an empty segment among others; first, last and all."""
    parts = [(ts(n), *(() if n in empty else text(f" w{n}")), ts(n + 1)) for n in range(3)]
    sounds = [(n + 0.2, n + 0.8) for n in range(3) if n not in empty]
    segments = Speaker([[token for part in parts for token in part], ()], sounds).transcribe(300)
    assert [segment.text for segment in segments] == [f" w{n}" for n in range(3) if n not in empty]
    assert all(len(segment.words) == 1 for segment in segments)


def test_the_next_window_starts_behind_the_last_word() -> None:
    """Text behind the last pair of timestamps is left to the next window, which starts where the words end."""
    first = (ts(0), *text(" one"), ts(2), ts(2), *text(" tw"))
    speaker = Speaker([first, (ts(0), *text(" two six"), ts(4))], THREE)
    segments = speaker.transcribe(600)
    assert speaker.starts[:2] == [0, 130]
    assert [word.word for segment in segments for word in segment.words] == [" one", " two", " six"]


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([(1.0, 9.9)], 10.5),  # silence behind the last word
        ([(1.0, 10.3)], 10.5),  # its voice fades
        ([(1.0, 10.3), (10.4, 12.0)], 10.4),  # the next one begins before the timestamp
        ([(1.0, 10.3), (10.42, 10.52)], 10.42),
        ([(1.0, 10.3), (11.0, 12.0)], 10.5),
        ([(1.0, 12.0)], 10.0),  # no pause
        ([], 10.5),
    ],
)
def test_what_fades_behind_the_last_word_is_not_decoded_again(
    regions: list[tuple[float, float]], expected: float
) -> None:
    voice = Voice(0.0, 30.0, np.zeros(0, np.float32), tuple(Region(*region) for region in regions))
    assert next_speech(10.0, 10.5, voice) == expected
    assert next_speech(10.0, 9.0, voice) == 10.0


def test_a_window_that_is_complete_is_passed_as_a_whole() -> None:
    speaker = Speaker([SAID], THREE)
    speaker.transcribe(600)
    assert speaker.starts == [0]


LATE = [(27.0, 27.5), (28.1, 28.6), (29.2, 29.9)]


@pytest.mark.parametrize("threshold", [None, 2.0])
def test_a_word_at_the_end_of_a_window_is_not_skipped(threshold: float | None) -> None:
    """B70: the tail of the window was taken for silence; a real word there vanished."""
    speaker = Speaker([text(" one two"), (ts(0), *text(" end"), ts(1))], LATE)
    segments = speaker.transcribe(6000, hallucination_silence_threshold=threshold)
    assert speaker.starts[1] == 2860
    assert (" end", 29.2, 29.9) in timed(segments[1])


def test_compat_skips_it_as_the_reference_does() -> None:
    speaker = Speaker([text(" one two"), (ts(0), *text(" end"), ts(1))], LATE)
    speaker.transcribe(6000, hallucination_silence_threshold=2.0, compat=True)
    assert speaker.starts[1] == 3000


@pytest.mark.parametrize("compat", [False, True])
def test_words_behind_the_end_of_the_audio_are_within_it(compat: bool) -> None:
    """B78: text invented behind the end of a window of a few frames."""
    for content_frames in (1, 2, 3, 5):
        for segment in Speaker([SAID], THREE).transcribe(content_frames, compat=compat):
            assert all(0 <= word.start <= word.end <= content_frames / 100 for word in segment.words)


def test_compat_drops_segments_whose_words_have_no_time_as_the_reference_does() -> None:
    """B51: where all attention falls on one moment they stood in the result from 0.00 to 0.00."""
    assert len(Speaker([SAID], THREE).transcribe(600, compat=False)) == 2
    assert Speaker([SAID], THREE).transcribe(600, compat=True) == []


def test_numbers_and_symbols_have_times() -> None:
    """B88."""
    words = " In 2014 it cost £13.60, i.e. 2,000%."
    sounds = [(0.5 + n, 1.2 + n) for n in range(7)]
    (segment,) = Speaker([(ts(0), *text(words), ts(9))], sounds).transcribe(1000)
    assert "".join(word.word for word in segment.words) == words
    assert all(isinstance(word.start, float) and isinstance(word.end, float) for word in segment.words)
    assert all(word.end > word.start for word in segment.words)


@pytest.mark.parametrize("compat", [False, True])
def test_a_text_that_fills_the_decoders_context_has_times(compat: bool) -> None:
    said = " ab" * 148
    speaker = Speaker([text(said)], [(number / 5, number / 5 + 0.1) for number in range(148)])
    segment, *_ = speaker.transcribe(3000, compat=compat, loop_guard=False, without_timestamps=True)
    assert len(speaker.asked[0].tokens) <= 448
    assert "".join(word.word for word in segment.words) == said
    edges = [edge for word in segment.words for edge in (word.start, word.end)]
    assert edges == sorted(edges)


def test_right_to_left_words_keep_their_order() -> None:
    """B91."""
    words = " שלום 123 עולם."
    (segment,) = Speaker([(ts(0), *text(words), ts(5))], [(0.5 + n, 1.2 + n) for n in range(3)]).transcribe(600)
    assert "".join(word.word for word in segment.words) == words
    assert [word.start for word in segment.words] == sorted(word.start for word in segment.words)


INVENTED = (ts(0), *text(" one"), ts(2), ts(10), *text(" a b c"), ts(10.2), ts(20), *text(" six"), ts(21))


def test_odd_text_in_silence_is_dropped_and_the_rest_decoded_again() -> None:
    sounds = [(1.0, 1.4), (10.0, 10.02), (10.02, 10.04), (10.04, 10.06), (20.0, 20.4)]
    quiet = Speaker([result(INVENTED, avg_logprob=-2.5), (ts(0), *text(" six"), ts(20))], sounds)
    quiet_answer = quiet.answer

    def answer(request: Any) -> Any:
        levels = quiet_answer(request)
        if isinstance(request, Hear):
            levels[max(0, 990 - request.window.start) : max(0, 1020 - request.window.start)] = 0.0
        return levels

    quiet.answer = answer  # type: ignore[method-assign]
    segments = quiet.transcribe(2500, hallucination_silence_threshold=1.0)
    assert " a b c" not in [segment.text for segment in segments]
    assert len(quiet.starts) > 1


def test_odd_text_that_sounds_is_kept() -> None:
    """The threshold never drops words that the sound supports."""
    sounds = [(1.0, 1.4), (10.0, 10.08), (10.1, 10.18), (10.2, 10.28), (20.0, 20.4)]
    segments = Speaker([result(INVENTED, avg_logprob=-2.5)], sounds).transcribe(
        2100, hallucination_silence_threshold=1.0
    )
    assert " a b c" in [segment.text for segment in segments]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_words_are_in_order_inside_their_segments_and_each_is_there_once(data: st.DataObject) -> None:
    """For any window: times never go back, never pass the end, and the words of a segment are its text."""
    n_window = data.draw(st.integers(1, 3))
    says = []
    for _ in range(n_window):
        times = sorted(data.draw(st.lists(st.integers(0, 1500), min_size=2, max_size=6)))
        words = data.draw(st.lists(st.text(alphabet=" ab,.é", max_size=6), min_size=6, max_size=6))
        pairs = zip(times[::2], times[1::2], strict=False)
        tokens = [t for n, (a, b) in enumerate(pairs) for t in (ts(a / 50), *text(words[n]), ts(b / 50))]
        says.append(tokens[: data.draw(st.integers(1, len(tokens)))])
    sounds = [(float(n), n + 0.6) for n in range(40)]
    content_frames = data.draw(st.integers(10, 4000))
    segments = Speaker(says, sounds).transcribe(content_frames, compat=False, without_timestamps=False)
    edges = [edge for segment in segments for word in segment.words for edge in (word.start, word.end)]
    assert edges == sorted(edges)
    assert not edges or 0 <= edges[0] <= edges[-1] <= content_frames / 100
    for segment in segments:
        assert "".join(word.word for word in segment.words) == segment.text
        assert (segment.start, segment.end) == (segment.words[0].start, segment.words[-1].end)
