"""Vocabularies: the shipped ones are whole, a checkpoint's own one is checked, equal ones are built once."""

import pytest

from sasayaki.errors import CheckpointError
from sasayaki.text.special_tokens import SpecialTokens
from sasayaki.text.vocabulary import build_encoding, load_ranks, shipped_encoding


@pytest.mark.parametrize("n_vocab", [51864, 51865, 51866])
def test_shipped_vocabularies_are_whole(n_vocab: int) -> None:
    ranks = load_ranks(n_vocab)
    assert list(ranks.values()) == list(range(SpecialTokens.for_vocab(n_vocab).eot))
    assert {bytes([byte]) for byte in range(256)} == set(list(ranks)[:256])
    assert shipped_encoding(n_vocab).n_vocab == n_vocab


def test_multilingual_models_share_their_text_tokens() -> None:
    assert load_ranks(51865) == load_ranks(51866) != load_ranks(51864)


def test_equal_vocabularies_are_built_once() -> None:
    special = SpecialTokens.for_vocab(51865)
    backwards = dict(reversed(load_ranks(51865).items()))
    assert build_encoding(backwards, special) is shipped_encoding(51865)


def test_entries_from_the_end_of_text_on_are_left_out() -> None:
    ranks = load_ranks(51865) | {b"<|endoftext|>": 50257, b"<|0.00|>": 50364, b"added by somebody": 51865}
    assert build_encoding(ranks, SpecialTokens.for_vocab(51865)) is shipped_encoding(51865)


def test_the_empty_token_may_be_left_out() -> None:
    ranks = load_ranks(51865)
    assert ranks.pop(b"") == 50256
    assert build_encoding(ranks, SpecialTokens.for_vocab(51865)) is not None
    assert b"" not in ranks  # the caller's mapping is not touched


def test_a_damaged_vocabulary_is_refused() -> None:
    ranks = load_ranks(51864)
    special = SpecialTokens.for_vocab(51864)
    cut = {piece: token for piece, token in ranks.items() if token < 30_000}
    doubled = ranks | {b" the": ranks[b" a"]}
    negative = ranks | {b" the": -1}
    without_a_byte = {piece if piece != b"\x80" else b"no such text": token for piece, token in ranks.items()}
    for damaged in (cut, doubled, negative, without_a_byte, {}):
        with pytest.raises(CheckpointError, match="each text token id from 0 to 50255 once"):
            build_encoding(damaged, special)
