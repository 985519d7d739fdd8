"""Initial tokens: prompt, start sequence and prefix, and how they are cut to fit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.prompt import InitialTokens, initial_tokens
from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions
from sasayaki.text.tokenizer import Tokenizer
from tests.decoding.scripts import decode_names, decoder_of, scripted
from tests.fakes import (
    N_VOCAB,
    NO_TIMESTAMPS,
    SOT,
    SOT_PREV,
    TRANSCRIBE,
    TRANSLATE,
    byte_tokenizer,
    english_tokenizer,
    say,
    text,
    ts,
)

START = (SOT, SOT + 1, TRANSCRIBE)
TOKENS = list(range(100, 200)) * 3
"""300 text tokens."""


def made(tokenizer: Tokenizer | None = None, n_text_ctx: int = 448, **options: Any) -> InitialTokens:
    tokenizer = tokenizer or byte_tokenizer()
    return initial_tokens(tokenizer, DecodingOptions(**options), n_text_ctx=n_text_ctx, n_vocab=N_VOCAB)


def test_prompt_start_sequence_and_prefix_stand_in_this_order() -> None:
    initial = made(prompt="ab", prefix="c", without_timestamps=True)
    assert initial.tokens == (SOT_PREV, *text(" ab"), *START, NO_TIMESTAMPS, *text(" c"))
    assert initial.sot_index == 4
    assert initial.n_steps == 224


def test_the_start_sequence_names_language_and_task() -> None:
    assert made(byte_tokenizer("de", "translate")).tokens == (SOT, SOT + 2, TRANSLATE)
    assert made(english_tokenizer()).tokens == (SOT,)


@pytest.mark.parametrize("nothing", [None, "", "  ", [], ()])
def test_an_empty_prompt_or_prefix_adds_nothing(nothing: Any) -> None:
    assert made(prompt=nothing, prefix=nothing).tokens == START


@pytest.mark.parametrize("given", [[65, 66], (65, 66), np.array([65, 66]), iter([65, 66])])
def test_ids_are_taken_in_any_container(given: Any) -> None:
    assert made(prompt=given).tokens == (SOT_PREV, 65, 66, *START)


def test_a_long_prompt_keeps_its_last_223_tokens() -> None:
    """B19: operator precedence in the bound of the slice was off by one."""
    assert made(prompt=TOKENS).tokens == (SOT_PREV, *TOKENS[-223:], *START)
    assert made(prompt=TOKENS[:223]).tokens == (SOT_PREV, *TOKENS[:223], *START)


@pytest.mark.parametrize(
    ("sample_len", "n_given", "n_kept"),
    [(None, 300, 300), (220, 10, 4), (224, 10, 0), (400, 10, 0), (1, 300, 223), (100, 124, 124), (100, 125, 124)],
)
def test_a_prefix_keeps_its_last_tokens_that_fit(sample_len: int | None, n_given: int, n_kept: int) -> None:
    """B19: a limit of 0 kept everything, and a negative one cut at the wrong end."""
    given = TOKENS[:n_given]
    expected = (*START, *given[len(given) - n_kept :])
    assert made(prefix=given, sample_len=sample_len).tokens == expected


@pytest.mark.parametrize(
    ("n_prompt", "n_prefix", "sample_len", "without_timestamps"),
    list(itertools.product([0, 1, 223, 300], [0, 1, 219, 220, 300], [None, 1, 224, 448, 10**9], [False, True])),
)
def test_the_context_is_never_passed(
    n_prompt: int, n_prefix: int, sample_len: int | None, without_timestamps: bool
) -> None:
    """B19: one place is left to sample in, whatever is asked for."""
    initial = made(
        prompt=TOKENS[:n_prompt],
        prefix=TOKENS[:n_prefix],
        sample_len=sample_len,
        without_timestamps=without_timestamps,
    )
    assert len(initial.tokens) <= 447
    assert 1 <= initial.n_steps <= 449 - len(initial.tokens)
    assert initial.tokens[initial.sot_index] == SOT


def test_what_the_decoder_is_fed_is_the_cut_prompt_and_prefix() -> None:
    """B19."""
    decoder = decoder_of(say([ts(0), *text("hi")], n_initial=251), tokenizer=byte_tokenizer())
    options = DecodingOptions(language="en", prompt=TOKENS, prefix=TOKENS, sample_len=200)
    result = decode_names(decoder, [0.0], options)[0]
    assert scripted(decoder).calls[0].histories == ((SOT_PREV, *TOKENS[-223:], *START, *TOKENS[-24:]),)
    assert result.text == "hi"


@pytest.mark.parametrize("name", ["prompt", "prefix"])
def test_an_id_outside_the_vocabulary_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} holds token {N_VOCAB}"):
        made(**{name: [1, N_VOCAB]})


@pytest.mark.parametrize(("n_vocab", "marker"), [(51864, 50360), (51865, 50361), (51866, 50362)])
@pytest.mark.parametrize("suppress_tokens", ["-1", [], [220]])
def test_one_marker_stands_before_the_prompt(n_vocab: int, marker: int, suppress_tokens: Any) -> None:
    """B115 and B05: the marker is the vocabulary's own id, in each vocabulary, whatever is suppressed."""
    tokenizer = Tokenizer.for_vocab(n_vocab)
    decoder = decoder_of(lambda *_: np.zeros(n_vocab, np.float32), tokenizer=tokenizer)
    options = DecodingOptions(language="en", prompt="Nikola Tesla", sample_len=1, suppress_tokens=suppress_tokens)
    decode_names(decoder, [0.0], options)
    fed = scripted(decoder).calls[0].histories[0]
    n_prompt = len(tokenizer.encode(" Nikola Tesla"))
    assert fed[0] == marker
    assert fed[1 : 1 + n_prompt] == tuple(tokenizer.encode(" Nikola Tesla"))
    assert fed[1 + n_prompt] == tokenizer.sot


def test_text_that_spells_a_special_token_is_text() -> None:
    assert made(prompt="<|endoftext|>").tokens == (SOT_PREV, *text(" <|endoftext|>"), *START)


def test_what_fits_no_model_is_found_before_any_model_work() -> None:
    decoder = decoder_of(say([]))
    assert isinstance(decoder, Decoder)
    for options in ({"prompt": [10**6]}, {"prefix": [10**6]}, {"suppress_tokens": [10**6]}, {"language": "uk"}):
        with pytest.raises(OptionError):
            decoder.check(DecodingOptions(**options))
    assert scripted(decoder).calls == []
