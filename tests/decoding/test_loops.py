"""The loop detector on token lists, and the loop guard in every search."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from sasayaki.decoding.loops import MIN_REPEATS, MIN_TOKENS, LoopBreaker, find_loop, good_length
from sasayaki.decoding.search import Beam, Candidates, SearchState
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import by_place, decode_names, decoder_of, outcome, random_script, scripted
from tests.decoding.scripts import decode_one as decode_plainly
from tests.fakes import EOT, TIMESTAMP_BEGIN, Script, ScriptedInference, byte_tokenizer, one_hot, text, ts
from tests.fakes import N_VOCAB as N_LARGE

HELLO = text("Hello there.")
LOOP = text(" and I said")


def slow_loop(tokens: Sequence[int]) -> tuple[int, int] | None:
    """(period, repeats) of the shortest cycle that is long enough, found by counting copies backwards."""
    words = [token for token in tokens if token < TIMESTAMP_BEGIN]
    for period in range(1, len(words) + 1):
        length = next(
            (
                n
                for n in range(len(words), period, -1)
                if all(a == b for a, b in zip(words[-n:], words[-n + period :], strict=False))
            ),
            0,
        )
        if length >= MIN_REPEATS * period and length >= MIN_TOKENS:
            return period, length // period
    return None


@pytest.mark.parametrize("seed", range(25))
def test_a_loop_is_found_where_a_slow_twin_finds_it(seed: int) -> None:
    draw = random.Random(seed)
    turn = [draw.randrange(3) for _ in range(draw.randrange(1, 12))]
    tokens = [draw.randrange(3) for _ in range(draw.randrange(9))] + turn * draw.randrange(1, 2 + 90 // len(turn))
    tokens += turn[: draw.randrange(len(turn) + 1)]
    for place in sorted((draw.randrange(len(tokens)) for _ in range(draw.randrange(5))), reverse=True):
        tokens[place:place] = [TIMESTAMP_BEGIN + place] * draw.choice([1, 2])
    for length in range(len(tokens)):
        found = find_loop(tokens[:length], TIMESTAMP_BEGIN)
        assert (None if found is None else (found.period, found.repeats)) == slow_loop(tokens[:length])


@pytest.mark.parametrize(
    "words",
    [
        "one " * 10,
        "no , " * 12 + "no .",
        "ha " * 30,
        "1 000 000 000 000 000",
        "5 5 5 - 5 5 5 5",
        "very , very , very good",
        "row , row , row your boat",
        "we will , we will rock you . " * 3,
        "thank you . " * 8,
    ],
)
def test_what_people_say_again_and_again_is_no_loop(words: str) -> None:
    """A token for each word."""
    vocabulary = sorted(set(words.split()))
    assert find_loop([vocabulary.index(word) for word in words.split()], TIMESTAMP_BEGIN) is None


VARIED = [
    "you should not get tired , you should not get tired , you should not get tired .",
    "whatever you say , you should not get tired , you should not get tired .",
    "you should not get tired , you should not get tired , you should not get tired .",
    "and then , you should not get tired , you should not get tired .",
]
"""Turns of which no more than three are the same on end, as base wrote them for speech in noise."""


def words_of(*sentences: str, vocabulary: dict[str, int]) -> list[int]:
    """A token for each word."""
    return [vocabulary.setdefault(word, len(vocabulary)) for sentence in sentences for word in sentence.split()]


def test_a_loop_whose_turns_differ_is_found_and_kept_up_to_its_second_turn() -> None:
    vocabulary: dict[str, int] = {}
    head = words_of("it is late and the lamp is low .", "this should be clear :", vocabulary=vocabulary)
    tokens = head + words_of(*VARIED, VARIED[0], vocabulary=vocabulary)
    found = next(filter(None, (find_loop(tokens[:length], TIMESTAMP_BEGIN) for length in range(len(tokens)))))
    kept = tokens[: good_length(tokens, found, TIMESTAMP_BEGIN)]
    assert kept == head + words_of("you should not get tired ,", vocabulary=vocabulary)


def test_refrains_are_no_loop() -> None:
    vocabulary: dict[str, int] = {}
    verses = [" ".join(f"w{verse}{place}" for place in range(12)) for verse in range(8)]
    song = [line for verse in verses for line in (verse, "you should not get tired , you should not get tired .")]
    tokens = words_of(*song, vocabulary=vocabulary)
    assert all(find_loop(tokens[:length], TIMESTAMP_BEGIN) is None for length in range(len(tokens)))


def test_timestamps_do_not_hide_a_loop() -> None:
    tokens = [ts(0.0)]
    for turn in range(8):
        tokens += [*LOOP, ts(turn + 1.0), ts(turn + 1.0)]
    found = find_loop(tokens, TIMESTAMP_BEGIN)
    assert found is not None
    assert (found.period, found.repeats, found.begin) == (len(LOOP), 8, 1)
    assert good_length(tokens, found, TIMESTAMP_BEGIN) == 1 + len(LOOP)


def test_segments_before_a_loop_are_kept_up_to_where_the_next_begins() -> None:
    tokens = [ts(0.0), *HELLO, ts(2.0), ts(2.0), *text("So"), *LOOP * 6]
    found = find_loop(tokens, TIMESTAMP_BEGIN)
    assert found is not None
    assert tokens[: good_length(tokens, found, TIMESTAMP_BEGIN)] == [ts(0.0), *HELLO, ts(2.0), ts(2.0)]


def test_without_a_segment_the_first_turn_is_kept() -> None:
    tokens = [ts(0.0), *text("So"), *LOOP * 6, *LOOP[:3]]
    found = find_loop(tokens, TIMESTAMP_BEGIN)
    assert found is not None
    assert tokens[: good_length(tokens, found, TIMESTAMP_BEGIN)] == [ts(0.0), *text("So"), *LOOP]


def decode_one(script: Script, **options: object) -> DecodingResult:
    """Every byte may be said; a space is a non-speech token over bytes."""
    return decode_plainly(script, suppress_tokens="", **options)


def looping(head: Sequence[int], turn: Sequence[int]) -> Script:
    """Says `head`, then `turn` for ever."""

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        place = len(sampled)
        return one_hot(head[place] if place < len(head) else turn[(place - len(head)) % len(turn)])

    return by_place(3, logits_at)


@pytest.mark.parametrize(
    "options", [{}, {"beam_size": 5}, {"temperature": 0.3, "best_of": 3}, {"beam_size": 4, "beam_stop": "bound"}]
)
def test_a_loop_ends_where_it_starts(options: dict[str, object]) -> None:
    head = [ts(0.0), *HELLO, ts(3.0), ts(3.0)]
    script = looping(head, LOOP)
    plain = decode_one(script, **options)
    assert len(plain.tokens) == 224
    assert plain.hypotheses[0].stop == "length"
    guarded = decode_one(script, loop_guard=True, **options)
    assert guarded.tokens == tuple(head)
    best = guarded.hypotheses[0]
    assert best.stop == "cut"
    assert best.sum_logprob == pytest.approx(sum(plain.hypotheses[0].token_logprobs[: len(head)]))


@pytest.mark.parametrize("beam_size", [None, 5])
def test_a_loop_from_the_start_keeps_its_first_turn(beam_size: int | None) -> None:
    result = decode_one(looping([ts(0.0)], LOOP), beam_size=beam_size, loop_guard=True)
    assert (result.text, result.hypotheses[0].stop) == ("and I said", "loop")


@pytest.mark.parametrize("beam_size", [None, 5])
def test_a_loop_costs_little_more_than_its_detection(beam_size: int | None) -> None:
    """The rest of the window is not decoded."""
    decoder = decoder_of(looping([ts(0.0)], LOOP), tokenizer=byte_tokenizer())
    options = DecodingOptions(language="en", beam_size=beam_size, loop_guard=True, suppress_tokens="")
    decode_names(decoder, [0.0], options)
    assert len(scripted(decoder).calls) <= 2 + max(MIN_TOKENS, MIN_REPEATS * len(LOOP))


@pytest.mark.parametrize("beam_size", [None, 5])
@pytest.mark.parametrize("words", ["one one one one one one", "no, " * 6 + "no", "10000000000"])
def test_real_repetitions_are_kept(words: str, beam_size: int | None) -> None:
    tokens = [ts(0.0), *text(words), ts(5.0)]

    def logits_at(_: object, sampled: tuple[int, ...]) -> np.ndarray:
        return one_hot(tokens[len(sampled)] if len(sampled) < len(tokens) else EOT)

    script = by_place(3, logits_at)
    guarded = decode_one(script, beam_size=beam_size, loop_guard=True)
    assert outcome(guarded) == outcome(decode_one(script, beam_size=beam_size))


def test_a_hypothesis_that_left_the_loop_early_lives_on() -> None:
    """Only those that shared the loop up to its middle go with it."""
    looped = (*HELLO, *LOOP * 5)
    astray = (*HELLO, *LOOP, *range(60))[: len(looped)]
    late = (*looped[:-1], 0)

    class Fixed:
        def propose(self, logits: object, state: SearchState) -> object:
            return logits

        def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
            beams = tuple(
                Beam(tokens, (-0.1,) * len(tokens), (-0.1,) * len(tokens)) for tokens in (looped, astray, late)
            )
            return SearchState(beams=beams, sources=(2, 0, 1))

        def finish(self, state: SearchState) -> tuple[Beam, ...]:
            return (*state.finished, *state.beams)

    nothing = Candidates(np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros((0, 0)))
    after = LoopBreaker(Fixed(), TIMESTAMP_BEGIN).advance(SearchState(), nothing)
    assert [beam.tokens for beam in after.beams] == [astray]
    assert after.sources == (0,)
    assert [beam.tokens for beam in after.finished] == [(*HELLO, *LOOP)]


def test_those_that_ended_within_the_loop_go_with_it() -> None:
    """In noise they are loops that ended a little earlier; those that went on to other words are kept."""
    looped = (*HELLO, *LOOP * 5)
    short = (*HELLO, *LOOP * 3, *text("."), ts(9.0), EOT)
    other = (*HELLO, *LOOP * 2, *range(30), EOT)
    once = (*HELLO, *LOOP, ts(9.0), EOT)
    finished = tuple(Beam(tokens, (-0.1,) * len(tokens), (-0.1,) * len(tokens)) for tokens in (short, other, once))

    class Fixed:
        def propose(self, logits: object, state: SearchState) -> object:
            return logits

        def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
            return SearchState((Beam(looped, (-0.1,) * len(looped), (-0.1,) * len(looped)),), (0,), finished)

        def finish(self, state: SearchState) -> tuple[Beam, ...]:
            return (*state.finished, *state.beams)

    nothing = Candidates(np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros((0, 0)))
    after = LoopBreaker(Fixed(), TIMESTAMP_BEGIN).advance(SearchState(), nothing)
    assert [beam.tokens for beam in after.finished] == [other, once, (*HELLO, *LOOP)]
    assert after.is_done


@pytest.mark.parametrize("seed", range(12))
def test_without_loops_the_guard_changes_nothing_alone_or_in_a_batch(seed: int) -> None:
    decoder = decoder_of(random_script(seed, eot=-1.0))
    for options in ({"beam_size": 4}, {}, {"temperature": 0.7, "best_of": 2}):
        plain, guarded = (DecodingOptions(language="en", loop_guard=guard, **options) for guard in (False, True))
        expected = [outcome(result) for result in decode_names(decoder, [0.0, 1.0], plain)]
        assert [outcome(result) for result in decode_names(decoder, [0.0, 1.0], guarded)] == expected
        assert [outcome(decode_names(decoder, [name], guarded)[0]) for name in (0.0, 1.0)] == expected


# In long recordings


def transcribe(script: Script, seconds: float, **options: object) -> tuple[Whisper, DecodingResult]:
    inference = ScriptedInference(script, n_vocab=N_LARGE, name_audio=lambda mel: len(inference.encoded))
    model = Whisper(inference, byte_tokenizer(), suppress=())
    samples = np.zeros(round(seconds * 16_000), np.float32)
    return model, model.transcribe(samples, language="en", condition_on_previous_text=False, **options)  # type: ignore[return-value]


def in_windows(*windows: Sequence[int] | tuple[Sequence[int], Sequence[int]]) -> Script:
    """Window after window: its tokens and the end, or a head and a turn that is repeated for ever."""

    def script(name: object, history: tuple[int, ...]) -> np.ndarray:
        window = windows[min(int(name), len(windows)) - 1]  # type: ignore[call-overload]
        if isinstance(window, tuple):
            return looping(*window)(name, history)
        place = len(history) - 3
        return one_hot(window[place] if 0 <= place < len(window) else EOT)

    return script


def test_the_next_window_starts_behind_the_last_good_segment() -> None:
    """The good part is decoded once, what is behind it gets a window of its own; nothing hotter is tried."""
    script = in_windows(([ts(0.0), *HELLO, ts(4.0), ts(4.0)], LOOP), [ts(0.0), *text("The rest."), ts(6.0)])
    _, result = transcribe(script, 20.0)
    assert result.text == "Hello there.The rest."
    assert [(segment.start, segment.end) for segment in result.segments] == [(0.0, 4.0), (4.0, 10.0)]  # type: ignore[attr-defined]
    assert all(len(segment.attempts) == 1 for segment in result.segments)  # type: ignore[attr-defined]


def test_a_loop_from_the_start_is_tried_again_hotter_and_says_so() -> None:
    _, result = transcribe(in_windows(([ts(0.0)], LOOP)), 20.0, temperature=(0.0, 0.2))
    (segment,) = result.segments  # type: ignore[attr-defined]
    assert segment.text == " and I said"
    assert [attempt.failed for attempt in segment.attempts] == [("loop_guard",)] * 2


def test_compat_decodes_the_loop_as_openai_whisper_does() -> None:
    script = in_windows(([ts(0.0), *HELLO, ts(4.0), ts(4.0)], LOOP))
    _, plain = transcribe(script, 20.0, compat=True, temperature=0.0)
    _, off = transcribe(script, 20.0, loop_guard=False, short_context=False, vad="off", temperature=0.0)
    assert plain.segments == off.segments  # type: ignore[attr-defined]
    assert plain.segments[0].compression_ratio > 2.4  # type: ignore[attr-defined]


@pytest.mark.parametrize("beam_size", [None, 5])
def test_a_loop_whose_turns_differ_ends_where_it_starts(beam_size: int | None) -> None:
    head = [ts(0.0), *HELLO, ts(3.0), ts(3.0)]
    turns = [*text("no way,"), *text("oh, no way."), *text("so no way,"), *text("no way.")]
    result = decode_one(looping(head, turns), beam_size=beam_size, loop_guard=True)
    assert (result.tokens, result.hypotheses[0].stop) == (tuple(head), "cut")


def test_no_loop_is_left_whatever_the_turn() -> None:
    for length, head in itertools.product([1, 3, 9, 40], [0, 4]):
        turn = list(range(97, 97 + length))
        result = decode_one(looping([ts(0.0), *text("x" * head)], turn), beam_size=3, loop_guard=True)
        assert result.tokens == (ts(0.0), *text("x" * head), *turn)
