"""The matcher of phrases: what each token adds, against a search through the whole path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.decoding.scorers.phrase_matcher import REPEATED, PhraseMatcher, Progress, Spelling


def matcher_of(*spellings: tuple[str, float], phrase: str | None = None, is_joined: bool = False) -> PhraseMatcher:
    """A matcher of letters; each spelling is a phrase of its own unless one is named. Words are open behind letters."""
    made = (Spelling(phrase or text, tuple(text.encode()), worth, is_joined) for text, worth in spellings)
    return PhraseMatcher(made, is_letter, is_letter)


def is_letter(token: int) -> bool:
    return chr(token).isalpha()


def path(matcher: PhraseMatcher, text: str) -> list[float]:
    """What each letter of a text adds."""
    amounts, progress = [], Progress()
    for token in text.encode():
        amounts.append(matcher.gains(progress).get(token, 0.0) - matcher.credit(progress))
        progress = matcher.advance(progress, token)
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
    ],
)
def test_a_bonus_is_given_token_by_token_and_taken_back_at_once(text: str, amounts: list[float]) -> None:
    assert path(matcher_of(("abc", 3)), text) == pytest.approx(amounts)


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
    matcher = matcher_of(("new", 6), ("newyork", 14), ("york", 4))
    assert path(matcher, text) == pytest.approx(amounts)


def test_a_match_that_breaks_off_goes_on_as_a_shorter_one() -> None:
    """`abcabd` has both begun and broken off `abce`; what it shares with `cabd` is kept."""
    amounts = path(matcher_of(("abce", 4), ("cabd", 8)), "abcabd")
    assert amounts == pytest.approx([1, 1, 1, 1, 2, 2])
    assert sum(amounts) == pytest.approx(8)


def test_spellings_of_one_phrase_that_end_together_count_once() -> None:
    matcher = matcher_of(("xab", 3), ("ab", 3), phrase="ab")
    assert sum(path(matcher, "xab")) == sum(path(matcher, "ab")) == pytest.approx(3)


def test_spellings_of_one_token_have_no_credit() -> None:
    assert path(matcher_of(("a", 5)), "axx") == [5, 0, 0]


def test_each_further_time_is_worth_less() -> None:
    """A phrase that earned the same each time made loops of itself: the end was never worth as much."""
    matcher = matcher_of(("ab", 4))
    assert path(matcher, "abxabxab") == pytest.approx([2, 2, 0, 1, 1, 0, 0.5, 0.5])
    assert sum(path(matcher, "abx" * 100)) < 8


@pytest.mark.parametrize("between", ["", "-", "--"])
def test_right_behind_itself_a_phrase_is_worth_nothing(between: str) -> None:
    """A name that the model goes on repeating by itself must not have earned the more for it."""
    matcher = matcher_of(("ab", 4))
    nothing = [0.0] * len(between)
    assert path(matcher, between.join(["ab"] * 3)) == pytest.approx([2, 2, *nothing, 0, 0, *nothing, 0, 0])
    assert path(matcher, f"ab{between}abxab") == pytest.approx([2, 2, *nothing, 0, 0, 0, 1, 1])
    assert path(matcher, f"ab{between}axab") == pytest.approx([2, 2, *nothing, 0, 0, 1, 1])


def test_phrases_are_counted_one_by_one() -> None:
    assert path(matcher_of(("a", 4), ("b", 2)), "abab") == pytest.approx([4, 2, 2, 1])


@pytest.mark.parametrize(
    ("text", "amounts"), [("ab", [1, 1]), ("cab", [0, 0, 0]), ("c-ab", [0, 0, 1, 1]), ("aab", [1, -1, 0])]
)
def test_a_spelling_without_space_begins_where_no_word_is_open(text: str, amounts: list[float]) -> None:
    """Within words the beginnings of phrases would be favoured everywhere."""
    assert path(matcher_of(("ab", 2), is_joined=True), text) == pytest.approx(amounts)


def test_nothing_to_favour_adds_nothing() -> None:
    assert path(PhraseMatcher([], is_letter, is_letter), "abc") == [0, 0, 0]


TEXT = st.text("abc", min_size=1, max_size=5)
PHRASES = st.dictionaries(TEXT, st.floats(0, 20), max_size=6)


def found_in(text: str, phrase: str) -> list[bool]:
    """For each time that a text has a phrase: whether it earns something, as no time before ends right before it."""
    starts = [place for place in range(len(text)) if text.startswith(phrase, place)]
    ends = [start + len(phrase) for start in starts]
    return [not any(end <= start and not any(map(str.isalpha, text[end:start])) for end in ends) for start in starts]


@given(phrases=PHRASES, text=st.text("abcd-", max_size=30))
@settings(max_examples=400, deadline=None)
def test_a_path_adds_what_its_phrases_are_worth_and_nothing_else(phrases: dict[str, float], text: str) -> None:
    """A letter outside all phrases ends the path, so that no credit is left."""
    times = {phrase: sum(found_in(text, phrase)) for phrase in phrases}
    worth = sum(phrases[phrase] * REPEATED**before for phrase, n in times.items() for before in range(n))
    assert sum(path(matcher_of(*phrases.items()), text + "x")) == pytest.approx(worth, abs=1e-9)


@given(phrases=PHRASES, text=st.text("abcd-", max_size=20))
@settings(max_examples=400, deadline=None)
def test_credit_is_the_best_share_of_a_phrase_in_progress(phrases: dict[str, float], text: str) -> None:
    matcher, progress = matcher_of(*phrases.items()), Progress()
    for token in text.encode():
        progress = matcher.advance(progress, token)
    shares = [
        worth * n_matched / len(phrase) * REPEATED ** sum(found_in(text, phrase))
        for phrase, worth in phrases.items()
        for n_matched in range(1, len(phrase))
        if text.endswith(phrase[:n_matched]) and found_in(text + phrase[n_matched:], phrase)[-1]
    ]
    assert matcher.credit(progress) == pytest.approx(max(shares, default=0.0))
