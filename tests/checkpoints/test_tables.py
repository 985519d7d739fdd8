"""The table of alignment heads."""

from __future__ import annotations

import pytest

from sasayaki.checkpoints.tables import alignment_heads_for, head_lags_for

SIZES = {
    "tiny": (4, 6), "base": (6, 8), "small": (12, 12), "medium": (24, 16), "large-v1": (32, 20),
    "large-v2": (32, 20), "large-v3": (32, 20), "large-v3-turbo": (4, 20),
}  # fmt: skip
ENGLISH = {f"{name}.en": SIZES[name] for name in ("tiny", "base", "small", "medium")}


@pytest.mark.parametrize(("name", "size"), [*SIZES.items(), *ENGLISH.items()])
def test_heads_exist_in_their_model_and_are_sorted(name: str, size: tuple[int, int]) -> None:
    heads = alignment_heads_for(name)
    assert heads
    assert list(heads) == sorted(set(heads))
    assert all(layer < size[0] and head < size[1] for layer, head in heads)


def test_aliases_share_heads_and_other_models_have_none() -> None:
    assert alignment_heads_for("large") == alignment_heads_for("large-v3")
    assert alignment_heads_for("turbo") == alignment_heads_for("large-v3-turbo")
    assert alignment_heads_for("distil-large-v3") is None
    assert alignment_heads_for("someone/whisper-base-tuned") is None


def test_lags_go_with_the_heads_whatever_a_model_is_called() -> None:
    heads = alignment_heads_for("base")
    assert heads
    lags = head_lags_for(heads)
    assert lags
    assert len(lags) == len(heads)
    assert head_lags_for(heads[::-1]) == lags[::-1]
    assert head_lags_for(heads[1:]) is None
    assert head_lags_for(alignment_heads_for("small")) is None
    assert head_lags_for(None) is None


def test_no_two_models_have_the_same_heads() -> None:
    known = [frozenset(alignment_heads_for(name) or ()) for name in (*SIZES, *ENGLISH)]
    assert len(set(known)) == len(known)
