"""What each window is told of the windows before it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.transcribe.context import Context

LIMIT = 223


def begin(n_initial: int, *, is_carried: bool) -> Context:
    return Context.begin(range(1000, 1000 + n_initial), is_carried=is_carried, limit=LIMIT)


@pytest.mark.parametrize("n_initial", [0, 1, 12, 222, 223, 224, 300])
def test_a_carried_prompt_is_never_pushed_out(n_initial: int) -> None:
    """B18: with 223 tokens or more the slice of what was left turned around and the prompt was lost."""
    context = begin(n_initial, is_carried=True)
    initial = tuple(range(1000, 1000 + n_initial))[-LIMIT:]
    said: list[int] = []
    for window in range(4):
        room = LIMIT - len(initial)
        assert context.prompt() == (*initial, *(said[-room:] if room else ()))
        spoken = [100 * window + token for token in range(100)]
        said += spoken
        context = context.after(spoken, is_kept=True)


@pytest.mark.parametrize("n_initial", [1, 223, 300])
def test_a_carried_prompt_survives_a_reset(n_initial: int) -> None:
    context = begin(n_initial, is_carried=True).after([1, 2, 3], is_kept=False)
    assert context.prompt() == tuple(range(1000, 1000 + n_initial))[-LIMIT:]


def test_an_initial_prompt_is_followed_by_the_text_and_gone_after_a_reset() -> None:
    context = begin(2, is_carried=False)
    assert context.prompt() == (1000, 1001)
    context = context.after([1, 2], is_kept=True)
    assert context.prompt() == (1000, 1001, 1, 2)
    assert context.after([3], is_kept=False).prompt() == ()


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_carried_prompt_keeps_its_last_tokens_down_to_none(limit: int) -> None:
    context = Context.begin((1, 2), is_carried=True, limit=limit)
    assert context.prompt() == ((), (2,), (1, 2), (1, 2))[limit]


@given(
    st.lists(st.integers(), max_size=12),
    st.booleans(),
    st.integers(0, 9),
    st.lists(st.tuples(st.lists(st.integers(), max_size=6), st.booleans()), min_size=1, max_size=5),
)
def test_a_prompt_is_the_end_of_what_was_said_within_its_limit(
    initial: list[int], is_carried: bool, limit: int, windows: list[tuple[list[int], bool]]
) -> None:
    context = Context.begin(initial, is_carried=is_carried, limit=limit)
    said = [] if is_carried else list(initial)
    for tokens, is_kept in windows:
        context = context.after(tokens, is_kept=is_kept)
        said = [*said, *tokens] if is_kept else []
        n_carried = min(limit, len(initial)) if is_carried else 0
        n_previous = min(limit - n_carried, len(said))
        expected = [*initial[len(initial) - n_carried :], *said[len(said) - n_previous :]]
        assert context.prompt() == tuple(expected)


@pytest.mark.parametrize("is_carried", [True, False])
def test_a_context_begins_anew_with_the_initial_prompt(is_carried: bool) -> None:
    context = begin(2, is_carried=is_carried)
    assert context.after([1, 2], is_kept=True).anew() == context
