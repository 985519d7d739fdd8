"""FollowGrammar: text that stays within a grammar, beside timestamps, for every hypothesis of its own."""

from __future__ import annotations

import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sasayaki.decoding.filters import grammar as module
from sasayaki.decoding.filters.grammar import FollowGrammar
from sasayaki.errors import BackendError, OptionError
from sasayaki.grammar import Grammar
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer
from tests.decoding.scripts import decode_names, decode_one, decoder_of, outcome, random_options, random_script
from tests.fakes import EOT, N_VOCAB, byte_tokenizer, one_hot, say, text, ts

BYTES = byte_tokenizer()
WORDS = Tokenizer.for_vocab(51865)
COMMAND = r"(turn|switch) (on|off) the (light|fan)"
PATTERNS = [COMMAND, r"a*b?|ab+c", r"([0-9]{1,3}[ ,])*[0-9]+", r"[Jj]a( bitte)?|nein|né+"]


def allowed(grammar: Grammar, *rows: tuple[int, ...], tokenizer: Tokenizer = BYTES) -> list[set[int]]:
    """Text and end tokens that the filter leaves to each row."""
    logits = np.zeros((len(rows), tokenizer.special.n_vocab), np.float32)
    FollowGrammar(tokenizer, grammar).apply(logits, rows)
    assert not np.isneginf(logits[:, tokenizer.eot + 1 :]).any(), "only text and the end are banned"
    return [set(np.flatnonzero(~np.isneginf(row[: tokenizer.eot + 1])).tolist()) for row in logits]


def characters(tokens: set[int]) -> str:
    return "".join("$" if token == EOT else chr(token) for token in sorted(tokens))


@pytest.mark.parametrize(
    ("spoken", "left"),
    [
        ("", " st"),
        (" ", "st"),
        ("turn ", "o"),
        (" turn o", "fn"),
        ("turn on the fa", "n"),
        ("turn on the fan", "$"),
        ("toast", ""),
    ],
)
def test_only_what_the_grammar_goes_on_with_is_left(spoken: str, left: str) -> None:
    assert characters(allowed(Grammar.regex(COMMAND), text(spoken))[0]) == left


@pytest.mark.parametrize(
    ("grammar", "good", "left"),
    [
        (Grammar.lark('start: verb " " thing\nverb: "open" | "close"\nthing: /door|gate/'), "open ", "dg"),
        (Grammar.lark('start: "a" start "b" | "c"'), "aac", "b"),
        (Grammar.json_schema({"type": "array", "items": {"enum": ["on", "off"]}}), '["o', "fn"),
        (Grammar.regex("yes|yes please"), "yes", " $"),
        (Grammar.regex("a?"), "", " a$"),
    ],
)
def test_all_notations_are_understood(grammar: Grammar, good: str, left: str) -> None:
    assert characters(allowed(grammar, text(good))[0]) == left
    assert characters(allowed(grammar, text(" " + good))[0]) == (left if good else left.strip())


def test_tokens_of_a_real_vocabulary_may_be_cut_anywhere() -> None:
    whole, cut = WORDS.encode(" turn on"), [*WORDS.encode(" tu"), *WORDS.encode("rn on")]
    assert whole != cut
    first, second = allowed(Grammar.regex(COMMAND), tuple(whole), tuple(cut), tokenizer=WORDS)
    assert first == second == {WORDS.encode(part)[0] for part in (" ", " t", " th", " the")}


def test_timestamps_do_not_count_and_stay_possible() -> None:
    rows = [
        text("turn "),
        (ts(0.0), *text("turn ")),
        (*text("tu"), ts(1.0), ts(1.0), *text("rn ")),
        (*text("turn "), ts(2.0)),
    ]
    assert [characters(left) for left in allowed(Grammar.regex(COMMAND), *rows)] == ["o"] * 4


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_walk_is_complete_exactly_where_the_pattern_matches(pattern: str) -> None:
    """The twin is Python's `re`, after every token of random walks."""
    for seed in range(40):
        draw = random.Random(seed)
        follow = FollowGrammar(BYTES, Grammar.regex(pattern))
        walked: tuple[int, ...] = ()
        for _ in range(30):
            logits = np.zeros((1, N_VOCAB), np.float32)
            follow.apply(logits, [walked])
            left = np.flatnonzero(~np.isneginf(logits[0, :EOT])).tolist()
            is_complete = not np.isneginf(logits[0, EOT])
            spoken = bytes(token for token in walked if token < EOT).decode("utf-8", "surrogateescape")
            assert is_complete == bool(re.fullmatch(f" ?(?:{pattern})", spoken))
            assert left or is_complete
            if not left:
                break
            walked += (draw.choice([*left, ts(1.0)]),)


def test_state_follows_hypotheses_through_reorders_and_back() -> None:
    """Rows swap, split, die and come back; each is what it would be alone."""
    follow = FollowGrammar(BYTES, Grammar.regex(COMMAND))
    draw = random.Random(0)
    commands = [f"{a} {b} the {c}" for a in ("turn", "switch") for b in ("on", "off") for c in ("light", "fan")]
    for _ in range(60):
        rows = [text(command)[: draw.randrange(len(command) + 1)] for command in draw.sample(commands, 5)]
        logits = np.zeros((5, N_VOCAB), np.float32)
        follow.apply(logits, rows)
        for row, tokens in zip(logits, rows, strict=True):
            assert (
                set(np.flatnonzero(~np.isneginf(row[: EOT + 1])).tolist()) == allowed(Grammar.regex(COMMAND), tokens)[0]
            )


def test_torch_equals_numpy() -> None:
    rows = [(), text("turn o"), (ts(0.0), *text("switch ")), text("turn on the fan"), text("no")]
    ours = np.random.default_rng(0).normal(size=(5, N_VOCAB)).astype(np.float32)
    theirs = torch.from_numpy(ours.copy())
    FollowGrammar(BYTES, Grammar.regex(COMMAND)).apply(ours, rows)
    FollowGrammar(BYTES, Grammar.regex(COMMAND)).apply(theirs, rows)
    np.testing.assert_array_equal(ours, theirs.numpy())


@pytest.mark.parametrize("case", range(8))
def test_no_decode_of_random_logits_leaves_the_grammar(case: int) -> None:
    """Greedy, sampled and beams, with timestamps and without: what ended is a text of the grammar."""
    draw = random.Random(case)
    pattern = PATTERNS[case % len(PATTERNS)]
    options = replace(
        random_options(draw, n_text_ctx=90),
        sample_len=None,
        prompt=None,
        prefix=None,
        suppress_tokens="-1",
        grammar=f"regex:{pattern}",
    )
    if options.beam_size is None:
        options = replace(options, temperature=0.9, best_of=3)
    decoder = decoder_of(random_script(case, eot=3.0), n_text_ctx=90)
    n_ended = 0
    for result in decode_names(decoder, [0.0, 1.0, 2.0], [options] * 3):
        for hypothesis in result.hypotheses:
            spoken = decoder.tokenizer.decode(hypothesis.tokens)
            if hypothesis.stop == "eot":
                n_ended += 1
                assert re.fullmatch(f" ?(?:{pattern})", spoken)
    assert n_ended


@pytest.mark.parametrize("beam_size", [None, 1, 5])
def test_windows_with_and_without_a_grammar_decode_together_as_they_do_alone(beam_size: int | None) -> None:
    decoder = decoder_of(random_script(3), n_text_ctx=90)
    plain = DecodingOptions(language="en", beam_size=beam_size)
    options = [plain, replace(plain, grammar=f"regex:{COMMAND}"), replace(plain, grammar="regex:[ab]{3}"), plain]
    together = decode_names(decoder, [0.0, 1.0, 2.0, 1.0], options)
    for name, given, result in zip([0.0, 1.0, 2.0, 1.0], options, together, strict=True):
        assert outcome(decode_names(decoder, [name], given)[0]) == outcome(result)


def test_timestamps_are_banned_where_no_rule_keeps_them_in_order() -> None:
    logits = np.zeros((2, N_VOCAB), np.float32)
    FollowGrammar(BYTES, Grammar.regex(COMMAND), has_timestamps=False).apply(logits, [(), text("turn ")])
    assert np.isneginf(logits[:, EOT + 1 :]).all()
    assert decode_one(say((ts(1.0),) * 9), grammar="regex:yes", without_timestamps=True).text == "yes"


def test_the_likeliest_command_is_taken_with_timestamps_around_it() -> None:
    said = (ts(0.0), *text(" turm of the fan!"), ts(2.0))
    result = decode_one(say(said), grammar=f"regex:{COMMAND}", suppress_tokens=None)
    assert result.text == "turn of"[:6] + "ff the fan"
    assert result.hypotheses[0].stop == "eot"
    assert {token for token in result.tokens if token > EOT} >= {ts(0.0)}


def test_a_grammar_may_ask_for_symbols_that_are_no_speech() -> None:
    """The list behind `-1` holds brackets and quotes; tokens that were named stay banned."""
    options: dict[str, Any] = {"grammar": 'json_schema:{"enum": ["on", "off"]}', "without_timestamps": True}
    assert decode_one(say(text('"off"')), **options).text == '"off"'
    result = decode_one(say(text('"off"')), suppress_tokens=f"-1,{ord('f')}", **options)
    assert result.text == '"on"'


def test_a_hypothesis_that_nothing_is_left_to_ends_without_the_end_token() -> None:
    """The grammar wants what another filter bans: a dead beam."""
    result = decode_one(
        say(text("abc")),
        grammar="regex:abc",
        deny_tokens="c",
        suppress_tokens=None,
        without_timestamps=True,
        beam_size=2,
    )
    assert result.text == "ab"
    assert result.hypotheses[0].stop != "eot"


def test_a_grammar_that_allows_nothing_at_all_may_end_at_once() -> None:
    result = decode_one(
        say(text("x")), grammar="regex:(yes|no)?", suppress_blank=False, without_timestamps=True, beam_size=3
    )
    assert result.text in ("", "yes", "no")
    forced = one_hot(EOT)
    assert (
        decode_one(lambda *_: forced, grammar="regex:(yes)?", suppress_blank=False, without_timestamps=True).text == ""
    )


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        (Grammar.regex("(a"), "unclosed group"),
        (Grammar.regex("(?=a)b"), "look-around"),
        (Grammar.lark("start: foo"), "foo"),
        (Grammar.lark(""), "start"),
        (Grammar.json_schema({"type": "bogus"}), "bogus"),
    ],
)
def test_a_grammar_that_is_none_is_refused_with_the_reason(grammar: Grammar, reason: str) -> None:
    with pytest.raises(OptionError, match=f"(?s)grammar is not a valid {grammar.kind} grammar: .*{reason}"):
        FollowGrammar(BYTES, grammar)


def test_a_missing_engine_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    module._vocabulary.cache_clear()
    module._begin.cache_clear()
    with pytest.raises(BackendError, match=r'pip install "sasayaki\[grammar\]"'):
        FollowGrammar(BYTES, Grammar.regex("yes|no"))


def test_threads_may_share_a_grammar() -> None:
    def decode(seed: int) -> tuple[object, ...]:
        decoder = decoder_of(random_script(seed % 3), n_text_ctx=60)
        return outcome(
            decode_names(decoder, [0.0], DecodingOptions(language="en", beam_size=3, grammar=f"regex:{COMMAND}"))[0]
        )

    alone = [decode(seed) for seed in range(3)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(decode, range(12))) == alone * 4
