"""The scorer that favours phrases: spellings, arrays, and what it does to a search."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.scorers.phrase_matcher import REPEATED
from sasayaki.decoding.scorers.phrases import FavourPhrases, leaves_word_open, spellings
from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer
from tests.decoding.scripts import by_place, decode_names, decode_one, decoder_of, outcome, random_script
from tests.fakes import EOT, N_VOCAB, TIMESTAMP_BEGIN, Script, byte_tokenizer, one_hot, text, ts

WHISPER = Tokenizer.for_vocab(51865)


def written(phrase: str) -> set[str]:
    return {WHISPER.decode(tokens) for tokens in spellings(WHISPER, phrase)}


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("Kubernetes", {"Kubernetes", " Kubernetes", "KUBERNETES", " KUBERNETES"}),
        ("comfyUI", {w for each in ("comfyUI", "ComfyUI", "COMFYUI") for w in (each, " " + each)}),
        ("Dr. Müller", {w for each in ("Dr. Müller", "DR. MÜLLER") for w in (each, " " + each)}),
        ("GPU", {"GPU", " GPU"}),
    ],
)
def test_a_phrase_is_spelled_with_and_without_space_and_in_other_cases(phrase: str, expected: set[str]) -> None:
    assert written(phrase) == expected


def test_a_space_that_is_a_token_of_its_own_begins_no_phrase() -> None:
    """In languages without spaces; else every space would be favoured."""
    assert set(spellings(WHISPER, "東京")) == {tuple(WHISPER.encode("東京"))}


@pytest.mark.parametrize(
    ("written", "is_open"),
    [("word", True), ("7", True), (" é", True), ("한", False), ("", False), (" ", False), ("-", False), ("(", False),
     ("東", False), ("ア", False), ("ไ", False), ("\ufffd", False), ("привет", True), ("o'", False)],
)  # fmt: skip
def test_a_word_is_open_behind_a_letter_of_a_script_with_spaces(written: str, is_open: bool) -> None:
    assert leaves_word_open(written) == is_open


def adjusted(scorer: FavourPhrases, sampled: list[tuple[int, ...]], n_vocab: int = N_VOCAB) -> np.ndarray:
    logprobs = np.zeros((len(sampled), n_vocab), np.float32)
    scorer.adjust(logprobs, sampled)
    return logprobs


def test_all_spellings_are_worth_the_same_in_all() -> None:
    """`WENTWORTH` has 4 tokens and ` Wentworth` 2, which must not make it better."""
    scorer = FavourPhrases(WHISPER, {"Wentworth": 3.0})
    sums = []
    for tokens in spellings(WHISPER, "Wentworth"):
        rows = [tokens[:n] for n in range(len(tokens))]
        amounts = adjusted(scorer, rows, 51865)
        sums.append(sum(amounts[row, token] for row, token in enumerate(tokens)))
    assert sums == pytest.approx([6.0] * 4)


def test_rows_of_a_batch_have_states_of_their_own() -> None:
    scorer = FavourPhrases(byte_tokenizer(), {"abc": 2.0})
    rows = [(), text("a"), text("x ab"), text("abc"), text("abx"), (*text("ab"), ts(1.0))]
    together = adjusted(scorer, rows)
    assert [together[row, ord("z")] for row in range(6)] == [0, -2, -4, 0, 0, 0]
    assert [together[row, ord("a")] for row in range(6)] == [2, -2, -4, 0, 0, 2]
    assert [together[row, ord("c")] for row in range(6)] == [0, -2, 2, 0, 0, 0]
    for row, tokens in enumerate(rows):
        np.testing.assert_array_equal(adjusted(scorer, [tokens])[0], together[row])


@pytest.mark.parametrize("token", [ts(0.0), ts(7.5), EOT])
def test_timestamps_and_the_end_break_a_match_off(token: int) -> None:
    scorer = FavourPhrases(byte_tokenizer(), {"abc": 2.0})
    assert adjusted(scorer, [text("ab")])[0, token] == -4
    assert adjusted(scorer, [text("abc")])[0, token] == 0
    np.testing.assert_array_equal(adjusted(scorer, [(*text("ab"), token)]), adjusted(scorer, [()]))


def test_what_is_forbidden_stays_forbidden() -> None:
    scorer = FavourPhrases(byte_tokenizer(), {"abc": 100.0})
    for rows in ([()], [text("ab")]):
        logprobs = np.full((1, N_VOCAB), -math.inf, np.float32)
        scorer.adjust(logprobs, rows)
        assert np.isneginf(logprobs).all()


ROWS = st.lists(st.text("abcx", max_size=8), min_size=1, max_size=5)


@given(phrases=st.dictionaries(st.text("abc", min_size=1, max_size=4), st.floats(0, 100), max_size=5), rows=ROWS)
@settings(max_examples=50, deadline=None)
def test_torch_gets_what_numpy_gets(phrases: dict[str, float], rows: list[str]) -> None:
    sampled = [text(row) for row in rows]
    mine = np.random.default_rng(0).normal(size=(len(rows), N_VOCAB)).astype(np.float32)
    mine[:, ord("b")] = -math.inf
    tensor = torch.from_numpy(mine.copy())
    FavourPhrases(byte_tokenizer(), phrases).adjust(mine, sampled)
    FavourPhrases(byte_tokenizer(), phrases).adjust(tensor, sampled)
    np.testing.assert_array_equal(tensor.numpy(), mine)


def test_a_phrase_that_cannot_be_written_is_refused() -> None:
    """`/` is among the non-speech symbols that are banned by default; it was favoured up to there, and no further."""
    script = by_place(3, lambda *_: one_hot(EOT))
    with pytest.raises(OptionError, match=r"phrases holds 'TCP/IP', .*suppress_tokens"):
        decode_one(script, phrases={"a": 1.0, "TCP/IP": 1.0})
    decode_one(script, phrases={"TCP/IP": 1.0}, suppress_tokens="")
    with pytest.raises(OptionError, match="phrases holds 'b1'"):
        decode_one(script, phrases={"b1": 1.0}, suppress_tokens=text("1"))


def test_a_spelling_that_can_be_written_is_enough() -> None:
    banned = decode_one(KUBE, phrases={"kube": 50.0, "kub": 50.0}, suppress_tokens=text("e"))
    assert banned.text == "kub"


# In a search


def spoken(*choices: dict[str, float]) -> Script:
    """A script that offers letters with probabilities by place, then a timestamp and the end, in any history."""

    def logits_at(audio: object, sampled: tuple[int, ...]) -> np.ndarray:
        if not sampled:
            return one_hot(ts(0.0))
        place = len(sampled) - 1
        if place >= len(choices):
            return one_hot(ts(1.0) if sampled[-1] < TIMESTAMP_BEGIN else EOT)
        logits = np.full(N_VOCAB, -30.0, np.float32)
        for letter, probability in choices[place].items():
            logits[ord(letter)] = math.log(probability)
        return logits

    return by_place(3, logits_at)


KUBE = spoken({"k": 0.4, "c": 0.6}, {"u": 1.0}, {"b": 0.4, "d": 0.6}, {"e": 1.0})


@pytest.mark.parametrize("beam_size", [None, 1, 5])
@pytest.mark.parametrize(("weight", "expected"), [(0.0, "cude"), (0.05, "cude"), (1.0, "kube")])
def test_a_phrase_wins_with_enough_weight(beam_size: int | None, weight: float, expected: str) -> None:
    result = decode_one(KUBE, beam_size=beam_size, phrases={"kube": weight})
    assert result.text == expected


@pytest.mark.parametrize("beam_size", [None, 4])
def test_log_probabilities_of_the_result_stay_those_without_the_bonus(beam_size: int | None) -> None:
    """The bonus steers the choice, and shows in `score` alone."""
    best = decode_one(KUBE, beam_size=beam_size, phrases={"kube": 3.0}).hypotheses[0]
    assert best.text == "kube"
    expected = [math.log(p) for p in (1, 0.4, 1, 0.4, 1, 1)]
    assert best.token_logprobs == pytest.approx(expected, abs=1e-4)
    assert best.sum_logprob == pytest.approx(2 * math.log(0.4), abs=1e-4)
    assert best.avg_logprob == pytest.approx(best.sum_logprob / 7)
    assert best.score == pytest.approx((best.sum_logprob + 4 * 3.0) / 6, abs=1e-4)


def bonus_of(written: str, weights: dict[str, float]) -> float:
    """What a text of letters, one token each, earns: phrases at the start of words, less each further time."""
    earned = 0.0
    for phrase, weight in weights.items():
        places = [place for place in range(len(written)) if place == 0 or not written[place - 1].isalnum()]
        starts = [place for place in places if written.startswith(phrase, place)]
        said = [written[start + len(phrase) : later] for start, later in pairwise(starts)]
        times = len(starts) - sum(not any(map(str.isalnum, between)) for between in said)
        earned += sum(weight * len(phrase) * REPEATED**before for before in range(times))
    return earned


def test_a_match_that_breaks_off_leaves_nothing_in_the_score_of_a_beam() -> None:
    """Every hypothesis scores its log-probability and the phrases that it completed."""
    phrases = {"aba": 0.5, "ab": 0.3, "ba": 0.2}
    script = spoken(*[{"a": 0.5, "b": 0.3, ".": 0.2}] * 5)
    found = decode_one(script, beam_size=40, patience=2.0, phrases=phrases).hypotheses
    assert len(found) >= 40
    assert len({bonus_of(hypothesis.text, phrases) for hypothesis in found}) >= 5
    for hypothesis in found:
        total = hypothesis.score * len(hypothesis.tokens)
        assert total == pytest.approx(hypothesis.sum_logprob + bonus_of(hypothesis.text, phrases), abs=1e-4)


@pytest.mark.parametrize("beam_size", [None, 5])
def test_a_loop_of_a_phrase_does_not_pay(beam_size: int | None) -> None:
    """With weight 4, *base* wrote "Nguyen Nguyen Nguyen" for a whole window in which nobody said it."""

    def logits_at(audio: object, sampled: tuple[int, ...]) -> np.ndarray:
        if not sampled:
            return one_hot(ts(0.0))
        logits = np.full(N_VOCAB, -30.0, np.float32)
        is_over = sampled[-1] >= TIMESTAMP_BEGIN and len(sampled) > 1
        logits[ord("n")] = math.log(0.2)
        logits[EOT if is_over else ts(1.0)] = math.log(0.8)
        return logits

    result = decode_one(by_place(3, logits_at), beam_size=beam_size, sample_len=60, phrases={"n": 4.0})
    assert result.text in {"n", "nn", "nnn"}


@pytest.mark.parametrize("beam_size", [None, 3])
def test_phrases_that_nobody_says_change_nothing(beam_size: int | None) -> None:
    """Not a bit of the results."""
    decoder = decoder_of(random_script(4))
    plain, favoured = (
        decode_names(decoder, [1.0, 2.0], DecodingOptions(language="en", beam_size=beam_size, phrases=phrases))
        for phrases in (None, {"\x00\x01": 5.0})
    )
    assert [outcome(result) for result in favoured] == [outcome(result) for result in plain]


@pytest.mark.parametrize("beam_size", [None, 1, 4])
def test_batches_with_different_phrases_equal_single_decodes(beam_size: int | None) -> None:
    decoder = decoder_of(random_script(9, scale=1.0))
    active = decode_names(decoder, [1.0], DecodingOptions(language="en"))[0].text
    lists = [None, {active[:3]: 2.0, active[1:4]: 1.0}, {a + b: 3.0 for a, b in pairwise(active[:6])}]
    options = [DecodingOptions(language="en", beam_size=beam_size, phrases=phrases) for phrases in lists]
    alone = [outcome(decode_names(decoder, [1.0], option)[0]) for option in options]
    together = decode_names(decoder, [1.0] * 6, [*options, *options[::-1]])
    assert [outcome(result) for result in together] == [*alone, *alone[::-1]]
    assert len(set(alone)) > 1


def test_samples_are_drawn_from_what_the_phrases_favour() -> None:
    plain, favoured = (
        decode_one(KUBE, temperature=1.0, best_of=20, phrases=phrases).hypotheses for phrases in (None, {"kube": 8.0})
    )
    assert len({hypothesis.text for hypothesis in plain}) > 2
    assert {hypothesis.text for hypothesis in favoured} == {"kube"}
