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


@given(
    st.lists(st.integers(), max_size=12),
    st.booleans(),
    st.integers(0, 9),
    st.lists(st.tuples(st.lists(st.integers(), max_size=6), st.booleans()), max_size=5),
)
def test_a_prompt_never_passes_its_limit(
    initial: list[int], is_carried: bool, limit: int, windows: list[tuple[list[int], bool]]
) -> None:
    context = Context.begin(initial, is_carried=is_carried, limit=limit)
    for tokens, is_kept in windows:
        context = context.after(tokens, is_kept=is_kept)
        assert len(context.prompt()) <= limit
        if is_carried:
            carried = tuple(initial[max(0, len(initial) - limit) :])
            assert context.prompt()[: len(carried)] == carried
