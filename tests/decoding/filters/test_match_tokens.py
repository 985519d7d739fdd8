"""MatchTokens: allow and deny lists by regular expression over the text of tokens."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import regex
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.filters.patterns import MatchTokens
from sasayaki.errors import OptionError
from sasayaki.text.tokenizer import Tokenizer
from tests.decoding.scripts import decode_names, decode_one, decoder_of, random_options, random_script
from tests.fakes import EOT, N_VOCAB, byte_tokenizer, say, text, ts

BYTES = byte_tokenizer()
WORDS = Tokenizer.for_vocab(51865)


def banned(sampled: str | bytes = "", *, tokenizer: Tokenizer = BYTES, **patterns: str) -> set[int]:
    """Tokens that the filter bans behind some text."""
    tokens = tuple(sampled.encode() if isinstance(sampled, str) else sampled)
    logits = np.zeros((1, tokenizer.special.n_vocab), np.float32)
    MatchTokens(tokenizer, **patterns).apply(logits, [tokens])
    return set(np.flatnonzero(np.isneginf(logits[0])).tolist())


def test_a_denied_pattern_may_be_nowhere_in_the_text_of_a_token() -> None:
    tokens = banned(tokenizer=WORDS, deny=r"[0-9]")
    whole = {token for token in range(WORDS.eot) if regex.search(rb"[0-9]", WORDS.token_bytes(token))}
    assert whole <= tokens
    assert max(tokens) < WORDS.eot
    assert {WORDS.encode(word)[0] for word in (" 1", "2", " 1990", " 5")} <= tokens
    assert not {WORDS.encode(word)[0] for word in (" one", "two", " ", ",")} & tokens


def test_an_allowed_pattern_must_match_the_whole_text_of_a_token() -> None:
    tokens = banned(tokenizer=WORDS, allow=r" ?[a-z]+")
    assert not {*WORDS.encode(" country"), *WORDS.encode("country")} & tokens
    assert {WORDS.encode(word)[0] for word in (" Country", ",", " don't"[-2:], " 1", "ü")} <= tokens


def test_both_patterns_hold_together() -> None:
    tokens = banned(allow="[a-z]", deny="[aeiou]")
    assert set(range(256)) - tokens == set(b"bcdfghjklmnpqrstvwxyz")


def test_end_and_timestamps_and_control_tokens_are_not_touched() -> None:
    for patterns in ({"deny": "[a-z]"}, {"allow": "[a-z]"}):
        assert max(banned(**patterns)) < EOT


@pytest.mark.parametrize("character", ["é", "日", "😀"])
def test_a_character_of_several_tokens_is_judged_as_a_whole(character: str) -> None:
    """Bytes of a character say nothing alone; the last one does."""
    data = character.encode()
    for end in range(1, len(data)):
        begun = data[:end]
        assert data[end] not in banned(begun, deny="x")
        assert data[end] not in banned(begun, allow=r"\p{Any}")
        assert (data[end] in banned(begun, deny=character)) == (end == len(data) - 1)
        only = banned(begun, allow=character)
        assert set(range(256)) - only == {data[end]}


def test_a_first_byte_is_banned_when_no_character_that_it_begins_is_left() -> None:
    hangul = banned(allow=r"\p{Hangul}")
    assert set(range(256)) - hangul == {0xE1, 0xE3, 0xEA, 0xEB, 0xEC, 0xED, 0xEF}
    assert 0xE4 in banned(deny=r"[\u4000-\u4fff]")
    assert 0xE4 not in banned(deny=r"[\u4001-\u4fff]")


def test_a_begun_character_is_not_broken_off_where_broken_text_does_not_match() -> None:
    begun = "日".encode()[:2]
    assert ord("a") not in banned(begun, deny="x")
    assert ord("a") in banned(begun, deny="\ufffd")
    assert ord("a") in banned(begun, allow=r"[a\p{Han}]")
    assert ord("a") not in banned("日", allow=r"[a\p{Han}]")


def test_timestamps_between_the_bytes_of_a_character_do_not_count() -> None:
    first, second, third = "日".encode()
    logits = np.zeros((2, N_VOCAB), np.float32)
    MatchTokens(BYTES, deny="日").apply(logits, [(first, second, ts(1.0), ts(1.0)), (65,)])
    assert np.flatnonzero(np.isneginf(logits[0])).tolist() == [third]
    assert not np.isneginf(logits[1, third])


@pytest.mark.parametrize("pattern", ["", "x*", r"[\s\S]", "(?s)."])
def test_patterns_that_leave_no_text_are_refused(pattern: str) -> None:
    with pytest.raises(OptionError, match="no text token is left by deny_tokens="):
        MatchTokens(BYTES, deny=pattern)
    with pytest.raises(OptionError, match=r"no text token is left by allow_tokens='abc', deny_tokens="):
        MatchTokens(BYTES, allow="abc", deny=pattern)


@pytest.mark.parametrize("patterns", [{"deny": r"\d|日"}, {"allow": r"[\p{Han}a-z]+"}])
def test_torch_equals_numpy_in_batches_with_begun_characters(patterns: dict[str, str]) -> None:
    sampled = [(), (65,), tuple("日".encode()[:2]), (65, ts(0.4)), (0xE6,)]
    ours = np.random.default_rng(0).normal(size=(5, N_VOCAB)).astype(np.float32)
    theirs = torch.from_numpy(ours.copy())
    MatchTokens(BYTES, **patterns).apply(ours, sampled)
    MatchTokens(BYTES, **patterns).apply(theirs, sampled)
    np.testing.assert_array_equal(ours, theirs.numpy())
    for row, tokens in enumerate(sampled):
        alone = np.zeros((1, N_VOCAB), np.float32)
        MatchTokens(BYTES, **patterns).apply(alone, [tokens])
        assert (np.isneginf(alone[0]) == np.isneginf(ours[row])).all()


@given(
    st.lists(st.integers(0, 255), max_size=12),
    st.sampled_from([r"\d", r"\p{Han}", r"\p{L}", "é", r"[\p{L}--\p{Latin}]"]),
)
@settings(max_examples=150, deadline=None)
def test_no_step_can_complete_what_is_denied_nor_anything_but_what_is_allowed(wanted: list[int], pattern: str) -> None:
    """A walk that takes each wanted byte if the filter leaves it, however characters are cut into tokens."""
    for name in ("deny", "allow"):
        filter_ = MatchTokens(BYTES, **{name: pattern})
        walked: tuple[int, ...] = ()
        for token in wanted:
            logits = np.zeros((1, N_VOCAB), np.float32)
            filter_.apply(logits, [walked])
            left = np.flatnonzero(~np.isneginf(logits[0, :EOT])).tolist()
            assert left, "a dead end"
            walked += (token if token in left else left[token % len(left)],)
        spoken = BYTES.decode(walked)
        if name == "deny":
            assert not regex.search(pattern, spoken, regex.V1)
        else:
            assert regex.fullmatch(f"(?:{pattern})*", spoken, regex.V1)


@pytest.mark.parametrize("case", range(6))
def test_no_decode_of_random_logits_leaves_the_lists(case: int) -> None:
    decoder = decoder_of(random_script(case))
    draw = random.Random(case)
    for name, value in (("deny_tokens", r"[\x00-\x7f--\s]"), ("allow_tokens", r"[\x20-\x7e]|\p{L}")):
        options = [random_options(draw, n_text_ctx=40) for _ in range(3)]
        given_ = [replace(each, suppress_tokens=None, **{name: value}) for each in options]
        for result in decode_names(decoder, [0.0, 1.0, 2.0], given_):
            for hypothesis in result.hypotheses:
                spoken = decoder.tokenizer.decode(hypothesis.tokens)
                if name == "deny_tokens":
                    assert not regex.search(value, spoken, regex.V1)
                else:
                    assert regex.fullmatch(f"(?:{value})*", spoken, regex.V1)


def test_a_decode_says_what_is_left() -> None:
    script = say((ts(0.0), *text("a12b"), ts(1.0)))
    assert decode_one(script).text == "a12b"
    assert not set(decode_one(script, deny_tokens=r"\d").text) & set("0123456789")
    assert set(decode_one(script, allow_tokens="[b1]").text) <= {"b", "1"}
