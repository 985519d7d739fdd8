"""`get_model` loads a model once in a process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sasayaki import ModelNotFoundError, model


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names that were loaded; the name `missing` fails at the first try."""
    names: list[str] = []

    def load(name: str, **_: object) -> object:
        names.append(name)
        threading.Event().wait(0.05)
        if name == "missing" and names.count(name) == 1:
            raise ModelNotFoundError("not yet")
        return object()

    monkeypatch.setattr(model, "load_model", load)
    monkeypatch.setattr(model, "_shared_models", type(model._shared_models)(model._load_shared))
    return names


def test_threads_that_ask_at_once_share_one_load(loads: list[str]) -> None:
    """B171: a check and a load without a lock gave several downloads and double memory."""
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(model.get_model, ["tiny"] * 8))
    assert loads == ["tiny"]
    assert len({id(shared) for shared in models}) == 1


def test_a_failed_load_is_tried_again_by_the_next_caller(loads: list[str]) -> None:
    """B171: a failing load is retried."""
    with pytest.raises(ModelNotFoundError):
        model.get_model("missing")
    assert model.get_model("missing") is model.get_model("missing")
    assert loads == ["missing", "missing"]


def test_other_arguments_are_another_model(loads: list[str]) -> None:
    assert model.get_model("tiny", threads=1) is not model.get_model("tiny", threads=2)
