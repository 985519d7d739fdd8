"""Words: borders as in openai/whisper, never inside a character, and no token lost for any ids."""

import json
import random
from pathlib import Path

import pytest

from sasayaki.text.tokenizer import Tokenizer

GOLDEN = json.loads(Path(__file__).parents[1].joinpath("golden/tokenizer.json").read_text(encoding="utf-8"))


def flat(word_tokens: list[list[int]]) -> list[int]:
    return [token for tokens in word_tokens for token in tokens]


@pytest.mark.parametrize("n_vocab", [51864, 51865, 51866])
def test_words_of_many_languages_are_the_reference_ones(n_vocab: int) -> None:
    """B75, B92: the tokens of a word are decoded together, so no word holds half a character."""
    tokenizer = Tokenizer.for_vocab(n_vocab)
    for case in GOLDEN["51864" if n_vocab == 51864 else "51865"]["texts"]:
        if n_vocab != 51864:
            missing = n_vocab == 51865 and case["language"] == "yue"
            tokenizer = tokenizer.with_language("zh" if missing else case["language"])
        words, word_tokens = tokenizer.split_to_word_tokens(case["tokens"])
        assert words == case["words"]
        assert list(map(len, word_tokens)) == case["sizes"]
        assert "".join(words) == case["text"]
        assert flat(word_tokens) == case["tokens"]
        assert "\ufffd" not in "".join(words)


def test_a_letter_of_two_tokens_stays_in_its_word() -> None:
    """B75: ' ældre' is four tokens, and the first two are one letter."""
    tokenizer = Tokenizer.for_vocab(51865, "da")
    tokens = [690, 99, 348, 265]
    assert tokenizer.split_to_word_tokens(tokens) == ([" ældre"], [tokens])


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("zh", "龘靐齉爩鱻麤"),
        ("yue", "佢哋琴晚喺屋企"),
        ("ja", "鬱蒼とした森"),
        ("th", "ฆ้องฎีกาจุฬา"),
        ("lo", "ມື້ນີ້ອາກາດ"),
        ("my", "ဒီနေ့ရာသီ"),
    ],
)
def test_scripts_without_spaces_are_split_at_characters(language: str, text: str) -> None:
    """B92: several words, each of whole characters, where a character is made of two or three tokens."""
    tokenizer = Tokenizer.for_vocab(51866, language)
    tokens = tokenizer.encode(text)
    assert any("\ufffd" in tokenizer.token_bytes(token).decode("utf-8", "replace") for token in tokens)
    words, word_tokens = tokenizer.split_to_word_tokens(tokens)
    assert len(words) > 1
    assert [tokenizer.decode(part) for part in word_tokens] == words
    assert "".join(words) == text
    assert tokenizer.with_language("en").split_to_word_tokens(tokens) == ([text], [tokens])


@pytest.mark.parametrize("language", ["en", "ja"])
def test_an_incomplete_character_at_the_end_goes_to_the_word_before(language: str) -> None:
    """B74: no lookup past the end, no U+FFFD, no token lost."""
    tokenizer = Tokenizer.for_vocab(51865, language)
    ok, start = tokenizer.encode(" ok"), tokenizer.encoding.encode_single_token(b"\xe4")
    assert tokenizer.split_to_word_tokens([*ok, start]) == ([" ok"], [[*ok, start]])
    assert tokenizer.split_to_word_tokens([*ok, start, tokenizer.eot]) == (
        [" ok", ""],
        [[*ok, start], [tokenizer.eot]],
    )
    assert tokenizer.split_to_word_tokens([start]) == ([""], [[start]])
    assert tokenizer.split_to_word_tokens([]) == ([], [])


def test_a_broken_character_does_not_swallow_the_next_word() -> None:
    tokenizer = Tokenizer.for_vocab(51865, "en")
    ok, start, hello = (
        tokenizer.encode(" ok"),
        tokenizer.encoding.encode_single_token(b"\xe4"),
        tokenizer.encode(" hello"),
    )
    assert tokenizer.split_to_word_tokens([*ok, start, *hello]) == (
        [" ok\ufffd", " hello"],
        [[*ok, start], hello],
    )


def test_special_tokens_are_words_without_text() -> None:
    tokenizer = Tokenizer.for_vocab(51865, "en")
    hello, stamp = tokenizer.encode("hello"), tokenizer.timestamp_begin
    assert tokenizer.split_to_word_tokens([stamp, *hello, stamp + 50, *hello, tokenizer.eot]) == (
        ["", "hello", "", "hello", ""],
        [[stamp], hello, [stamp + 50], hello, [tokenizer.eot]],
    )


def test_a_timestamp_inside_a_character_stays_in_its_word() -> None:
    """B118: the two halves are one letter again."""
    tokenizer = Tokenizer.for_vocab(51865, "en")
    lead, tail = (tokenizer.encoding.encode_single_token(byte) for byte in (b"\xc3", b"\xa9"))
    tokens = [*tokenizer.encode(" caf"), lead, tokenizer.timestamp_begin, tail]
    assert tokenizer.split_to_word_tokens(tokens) == ([" café"], [tokens])


def test_for_any_ids_no_token_and_no_text_is_lost() -> None:
    """B74: 10,000 random id lists of whole tokens, single bytes and special tokens."""
    source = random.Random(74)
    tokenizers = [Tokenizer.for_vocab(51864), *(Tokenizer.for_vocab(51866, code) for code in ("en", "ja"))]
    for _ in range(10_000):
        tokenizer = source.choice(tokenizers)
        n_vocab = tokenizer.special.n_vocab
        kinds = (256, tokenizer.eot, n_vocab)
        tokens = [source.randrange(source.choice(kinds)) for _ in range(source.randrange(12))]
        tokens += [source.randrange(tokenizer.eot, n_vocab)] * source.randrange(2)
        words, word_tokens = tokenizer.split_to_word_tokens(tokens)
        assert "".join(words) == tokenizer.decode(tokens)
        assert flat(word_tokens) == tokens
        assert all(word_tokens)
        if tokens and tokens[-1] >= tokenizer.eot:
            assert word_tokens[-1] == [tokens[-1]]
