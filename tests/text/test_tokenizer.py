"""The tokenizer against what openai/whisper says (golden/tokenizer.json), and our own rules."""

import json
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OptionError
from sasayaki.languages import LANGUAGES
from sasayaki.text.special_tokens import SpecialTokens
from sasayaki.text.tokenizer import Tokenizer

GOLDEN = json.loads(Path(__file__).parents[1].joinpath("golden/tokenizer.json").read_text(encoding="utf-8"))
N_VOCABS = [51864, 51865, 51866]


@pytest.fixture(params=N_VOCABS)
def n_vocab(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def golden(n_vocab: int) -> dict[str, Any]:
    facts: dict[str, Any] = GOLDEN[str(n_vocab)]
    return facts


def test_ids_and_languages_are_the_reference_ones(n_vocab: int, golden: dict[str, Any]) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    assert {name: getattr(tokenizer, name) for name in golden["ids"]} == golden["ids"]
    assert list(tokenizer.all_language_tokens) == golden["language_tokens"]
    assert tokenizer.all_language_codes == tuple(LANGUAGES)[: tokenizer.num_languages]


def test_sot_sequences_are_the_reference_ones(n_vocab: int, golden: dict[str, Any]) -> None:
    for key, expected in golden["sot_sequences"].items():
        language, task = key.split()
        if n_vocab == 51864 and task == "translate":
            continue  # the reference forgets the task in silence, we refuse it
        tokenizer = Tokenizer.for_vocab(n_vocab, language, task)
        assert list(tokenizer.sot_sequence) == expected
        assert tokenizer.sot_sequence_including_notimestamps == (*expected, tokenizer.no_timestamps)


def test_non_speech_tokens_are_the_reference_ones(n_vocab: int, golden: dict[str, Any]) -> None:
    assert list(Tokenizer.for_vocab(n_vocab).non_speech_tokens) == golden["non_speech_tokens"]


@pytest.mark.parametrize("n_vocab", [51864, 51865])
def test_texts_of_many_languages_have_the_reference_ids_and_come_back(n_vocab: int) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    for case in GOLDEN[str(n_vocab)]["texts"]:
        assert tokenizer.encode(case["text"]) == case["tokens"]
        assert tokenizer.decode(case["tokens"]) == case["text"]


def test_random_ids_have_the_reference_text_without_half_characters(n_vocab: int, golden: dict[str, Any]) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    for case in golden["random"]:
        for text, expected in (
            (tokenizer.decode(case["tokens"]), case["text"]),
            (tokenizer.decode_with_timestamps(case["tokens"]), case["with_timestamps"]),
        ):
            assert text == expected or text + "\ufffd" == expected


def test_text_never_ends_in_half_a_character(n_vocab: int) -> None:
    """B14: a cut inside a character leaves the text before it, and no U+FFFD."""
    tokenizer = Tokenizer.for_vocab(n_vocab)
    for text in (" გამარჯობა", " բարեւ ձեզ", "龘靐", " 👩‍👩‍👧", " ældre"):
        tokens = tokenizer.encode(text)
        for length in range(len(tokens) + 1):
            shown = tokenizer.decode(tokens[:length])
            assert text.startswith(shown)
        assert tokenizer.decode(tokens) == text


def test_broken_bytes_inside_are_replaced(n_vocab: int) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    lone_lead, lone_tail = (tokenizer.encoding.encode_single_token(byte) for byte in (b"\xc3", b"\xa9"))
    hello = tokenizer.encode(" hello")
    assert tokenizer.decode([lone_lead, *hello]) == "\ufffd hello"
    assert tokenizer.decode([lone_tail, *hello]) == "\ufffd hello"
    assert tokenizer.decode([*hello, lone_lead]) == " hello"


def test_text_holds_no_special_token(n_vocab: int) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    special = range(tokenizer.eot, n_vocab)
    assert tokenizer.decode(special) == ""
    assert tokenizer.decode([*special, *tokenizer.encode(" hi"), *special]) == " hi"


def test_timestamps_and_specials_are_spelled_when_asked_for(n_vocab: int) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    tokens = [
        tokenizer.sot,
        tokenizer.timestamp_begin,
        *tokenizer.encode(" hi"),
        tokenizer.timestamp_begin + 54,
    ]
    assert tokenizer.decode_with_timestamps(tokens) == "<|startoftranscript|><|0.00|> hi<|1.08|>"


def test_a_character_cut_by_a_border_is_joined_on_one_side(n_vocab: int) -> None:
    """B118: the pieces on both sides are whole text, and no byte is lost."""
    tokenizer = Tokenizer.for_vocab(n_vocab)
    lead, tail = (tokenizer.encoding.encode_single_token(byte) for byte in (b"\xc3", b"\xa9"))
    stamp = tokenizer.timestamp_begin + 50
    caf, bar = tokenizer.encode(" caf"), tokenizer.encode(" bar")
    assert tokenizer.decode_pieces([[*caf, lead, stamp], [stamp, tail, *bar]]) == [" caf", "é bar"]
    assert tokenizer.decode([*caf, lead, stamp, stamp, tail, *bar]) == " café bar"
    assert tokenizer.decode_pieces([[*caf, lead], bar]) == [" caf", "\ufffd bar"]
    assert tokenizer.decode_pieces([]) == []


@given(st.lists(st.lists(st.one_of(st.integers(0, 255), st.integers(0, 51864)), max_size=8), max_size=5))
def test_pieces_join_to_the_whole_text_and_are_valid_unicode(pieces: list[list[int]]) -> None:
    tokenizer = Tokenizer.for_vocab(51865)
    texts = tokenizer.decode_pieces(pieces)
    tokens = [token for piece in pieces for token in piece]
    whole = b"".join(tokenizer.token_bytes(token) for token in tokens if token < tokenizer.eot)
    assert "".join(texts) == tokenizer.decode(tokens)
    assert whole.decode("utf-8", errors="replace") in ("".join(texts), "".join(texts) + "\ufffd")
    assert all(text.encode("utf-8").decode("utf-8") == text for text in texts)


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    tokenizer = Tokenizer.for_vocab(51865)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("text", ["<|en|>", " say <|startofprev|> now", "<|endoftext|>", "<|0.00|>"])
def test_text_that_spells_a_special_token_is_ordinary_text(n_vocab: int, text: str) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    tokens = tokenizer.encode(text)
    assert max(tokens) < tokenizer.eot
    assert tokenizer.decode(tokens) == text


def test_the_bytes_of_each_token(n_vocab: int) -> None:
    tokenizer = Tokenizer.for_vocab(n_vocab)
    assert tokenizer.token_bytes(tokenizer.encoding.encode_single_token(b"\xc3")) == b"\xc3"
    assert tokenizer.token_bytes(n_vocab - 1) == b"<|30.00|>"
    for outside in (-1, n_vocab, 2**40):
        with pytest.raises(OptionError, match=f"0 to {n_vocab - 1}, got {outside}"):
            tokenizer.token_bytes(outside)
    with pytest.raises(OptionError, match="got -5"):
        tokenizer.decode([1, -5])


def test_language_and_task_have_defaults_and_can_be_changed() -> None:
    tokenizer = Tokenizer.for_vocab(51866)
    assert (tokenizer.language, tokenizer.task) == ("en", "transcribe")
    changed = tokenizer.with_language("Cantonese", "translate")
    assert (changed.language, changed.task, changed.language_token) == ("yue", "translate", 50358)
    assert changed.with_language("de-AT").sot_sequence == (50258, 50261, 50359)
    assert changed.to_language_token("Japanese") == 50266
    assert changed.encoding is tokenizer.encoding


def test_an_english_only_model_takes_english_and_nothing_else() -> None:
    for language in (None, "en", "English", "en-GB"):
        tokenizer = Tokenizer.for_vocab(51864, language, "transcribe")
        assert (tokenizer.language, tokenizer.task, tokenizer.sot_sequence) == (None, None, (50257,))
    with pytest.raises(OptionError, match=r"language 'fr'.*English only"):
        Tokenizer.for_vocab(51864, "fr")
    with pytest.raises(OptionError, match=r"task 'translate'.*multilingual"):
        tokenizer.with_language("en", "translate")
    with pytest.raises(OptionError, match="no language token"):
        tokenizer.language_token  # noqa: B018


def test_unknown_languages_and_tasks_are_refused(n_vocab: int) -> None:
    with pytest.raises(OptionError, match=r"language 'klingon'"):
        Tokenizer.for_vocab(n_vocab, "klingon")
    with pytest.raises(OptionError, match=r"task.*'summarize'"):
        Tokenizer.for_vocab(n_vocab, task="summarize")


def test_cantonese_needs_the_vocabulary_that_has_it() -> None:
    for make in (
        lambda: Tokenizer.for_vocab(51865, "yue"),
        lambda: Tokenizer.for_vocab(51865).to_language_token("yue"),
    ):
        with pytest.raises(OptionError, match=r"language 'yue'.*among the 99 of this model"):
            make()


def test_a_vocabulary_of_ones_own_works_without_the_published_ones() -> None:
    special = SpecialTokens(
        n_vocab=270, eot=256, sot=257, languages={"en": 258, "ja": 259}, translate=260, transcribe=261,
        sot_lm=262, sot_prev=263, no_speech=264, no_timestamps=265, timestamp_begin=266, n_timestamps=4,
    )  # fmt: skip
    encoding = tiktoken.Encoding(
        "bytes", pat_str="(?s).+", mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens=special.spellings(),
    )  # fmt: skip
    tokenizer = Tokenizer(encoding, special, "ja", "transcribe")
    assert tokenizer.sot_sequence == (257, 259, 261)
    assert tokenizer.decode([*tokenizer.encode("é"), 268]) == "é"
    assert tokenizer.decode_with_timestamps([97, 268]) == "a<|0.04|>"
