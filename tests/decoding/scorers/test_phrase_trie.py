"""The trie of phrases: what each token adds, against a search through the whole path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.scorers.phrase_trie import PhraseTrie, Spelling


def trie_of(*spellings: tuple[str, float], phrase: str | None = None) -> PhraseTrie:
    """A trie over letters; each spelling is a phrase of its own unless one is named."""
    return PhraseTrie(Spelling(phrase or text, tuple(text.encode()), worth) for text, worth in spellings)


def path(trie: PhraseTrie, text: str) -> list[float]:
    """What each letter of a text adds."""
    amounts, state = [], 0
    for token in text.encode():
        amounts.append(trie.gains(state).get(token, -trie.pending[state]))
        state = trie.advance(state, token)
    return amounts


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("abc", [1, 1, 1]),
        ("abcd", [1, 1, 1, 0]),
        ("abx", [1, 1, -2]),
        ("xay", [0, 1, -1]),
        ("abab", [1, 1, -1, 1]),
        ("aabc", [1, 0, 1, 1]),
        ("abcabc", [1, 1, 1, 1, 1, 1]),
    ],
)
def test_a_bonus_is_given_token_by_token_and_taken_back_at_once(text: str, amounts: list[float]) -> None:
    assert path(trie_of(("abc", 3)), text) == pytest.approx(amounts)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("new", [2, 2, 2 + 6]),
        ("newyork", [2, 2, 2 + 6, 2, 2, 2, 2 + 4]),
        ("newyx", [2, 2, 2 + 6, 2, -8]),
        ("york", [1, 1, 1, 1]),
    ],
)
def test_a_phrase_within_a_phrase_counts_beside_it(text: str, amounts: list[float]) -> None:
    """The credit for the longer phrase runs through the end of the shorter one."""
    trie = trie_of(("new", 6), ("newyork", 14), ("york", 4))
    assert path(trie, text) == pytest.approx(amounts)


def test_a_match_that_breaks_off_goes_on_as_a_shorter_one() -> None:
    """`abcabd` has both begun and broken off `abce`; what it shares with `cabd` is kept."""
    amounts = path(trie_of(("abce", 4), ("cabd", 8)), "abcabd")
    assert amounts == pytest.approx([1, 1, 1, 1, 2, 2])
    assert sum(amounts) == pytest.approx(8)


def test_spellings_of_one_phrase_that_end_together_count_once() -> None:
    trie = trie_of(("xab", 3), ("ab", 3), phrase="ab")
    assert sum(path(trie, "xab")) == pytest.approx(3)
    assert sum(path(trie, "ab")) == pytest.approx(3)
    assert sum(path(trie, "abxab")) == pytest.approx(6)


def test_spellings_of_one_token_are_never_pending() -> None:
    trie = trie_of(("a", 5))
    assert path(trie, "axaa") == [5, 0, 5, 5]


def test_nothing_to_favour_adds_nothing() -> None:
    assert path(PhraseTrie([]), "abc") == [0, 0, 0]


TEXT = st.text("abc", min_size=1, max_size=5)
WORTH = st.floats(0, 20, allow_nan=False)


@given(phrases=st.dictionaries(TEXT, WORTH, max_size=6), text=st.text("abcd", max_size=30))
@settings(max_examples=300, deadline=None)
def test_a_path_adds_the_worth_of_its_completed_phrases_and_of_nothing_else(
    phrases: dict[str, float], text: str
) -> None:
    """A letter outside all phrases ends the path, so that nothing is pending."""
    text += "-"
    completed = sum(
        worth for phrase, worth in phrases.items() for place in range(len(text)) if text.startswith(phrase, place)
    )
    assert sum(path(trie_of(*phrases.items()), text)) == pytest.approx(completed, abs=1e-9)


@given(phrases=st.dictionaries(TEXT, WORTH, max_size=6), text=st.text("abcd", max_size=20))
@settings(max_examples=300, deadline=None)
def test_what_is_pending_is_the_best_share_of_a_phrase_in_progress(phrases: dict[str, float], text: str) -> None:
    trie = trie_of(*phrases.items())
    state = 0
    for token in text.encode():
        state = trie.advance(state, token)
    shares = [
        worth * n_matched / len(phrase)
        for phrase, worth in phrases.items()
        for n_matched in range(1, len(phrase))
        if text.endswith(phrase[:n_matched])
    ]
    assert trie.pending[state] == pytest.approx(max(shares, default=0.0))
