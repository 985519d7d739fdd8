"""Words with their punctuation: every token once, in the order of the text, whatever the script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.alignment.word_groups import group_words
from sasayaki.options import TranscribeOptions
from sasayaki.text.tokenizer import Tokenizer

DEFAULTS = TranscribeOptions()
MARKS = {"prepended": DEFAULTS.prepend_punctuations, "appended": DEFAULTS.append_punctuations}


def words_of(text: str, language: str = "en") -> list[str]:
    tokenizer = Tokenizer.for_vocab(51865, language)
    groups = group_words(tokenizer.encode(text), tokenizer, **MARKS)
    assert "".join(group.text for group in groups) == text
    assert [token for group in groups for token in group.tokens] == tokenizer.encode(text)
    assert all(group.n_before + group.n_after < len(group.tokens) for group in groups)
    return [group.text for group in groups]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (' Well, "no", he said.', [" Well,", ' "no",', " he", " said."]),
        (" In 2014 it cost £13.60, i.e. 2,000%.", None),
        (" (yes) and [no].", [" (yes)", " and", " [no]."]),
        (" ...", [" ..."]),
        (" -", [" -"]),
        (" ?!", None),
    ],
)
def test_punctuation_belongs_to_a_word(text: str, words: list[str] | None) -> None:
    """B85, B88: no punctuation stands alone beside a word, and numbers and symbols are words."""
    found = words_of(text)
    assert found == words or words is None
    assert len(found) == 1 or all(any(c.isalnum() or c in "£%" for c in word) for word in found)


@pytest.mark.parametrize(
    ("text", "language"),
    [("今日は、いい天気です。", "ja"), ("你好，世界！", "zh"), ("ฆ้องฎีกาจุฬา", "th"), (" שלום, 123 עולם!", "he")],
)
def test_any_script_is_split_into_words(text: str, language: str) -> None:
    """B91, B92: several words in logical order, punctuation with the word before, no half characters."""
    found = words_of(text, language)
    assert len(found) > 1
    assert "\ufffd" not in "".join(found)


@pytest.mark.parametrize(
    ("text", "language", "first"),
    [
        ("สวัสดี ครับ ไทย", "th", "ส"),
        ("はい いいえ", "ja", "はい"),
        (" 猫 犬", "zh", " 猫"),
        ("a \n\t b \u3000 ", "en", "a"),
    ],
)
def test_space_is_no_word(text: str, language: str, first: str) -> None:
    """B92: a space that is a token of its own was a word with a time."""
    found = words_of(text, language)
    assert all(word.strip() for word in found)
    assert found[0] == first


@given(
    st.text(alphabet=" ab1.,!?\"'([-£é日。、\n\u3000ไ", max_size=20) | st.text(max_size=12),
    st.sampled_from(["en", "ja", "th", "he"]),
)
def test_every_token_is_in_one_word(text: str, language: str) -> None:
    assert all(word.strip() for word in words_of(text, language)) or not text.strip()


def test_a_character_begun_by_an_earlier_segment_stays_whole() -> None:
    tokenizer = Tokenizer.for_vocab(51865, "en")
    ids = tokenizer.encode("é bit")
    part = next(place for place in range(1, len(ids)) if tokenizer.decode(ids[place:]) == " bit")
    groups = group_words(ids[part:], tokenizer, **MARKS, text="é bit")
    assert "".join(group.text for group in groups) == "é bit"


def test_nothing_has_no_words() -> None:
    """B77."""
    tokenizer = Tokenizer.for_vocab(51865, "en")
    assert group_words([], tokenizer, **MARKS) == []
