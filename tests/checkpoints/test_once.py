"""Loading once: threads share one load, a failed load is tried again, keys do not wait for each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sasayaki.checkpoints.once import LoadOnce


def ask_at_once(get: Callable[[str], object], n_threads: int, key: str = "tiny") -> list[object]:
    """What every thread got, or its exception."""
    barrier = threading.Barrier(n_threads)

    def ask(_: int) -> object:
        barrier.wait()
        try:
            return get(key)
        except OSError as error:
            return error

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(ask, range(n_threads)))


def test_threads_that_ask_at_once_share_one_load() -> None:
    """B171: 8 threads ask for the same model at the same moment."""
    calls = []

    def load(key: str) -> object:
        calls.append(key)
        time.sleep(0.02)
        return object()

    models = ask_at_once(LoadOnce(load).get, 8)
    assert calls == ["tiny"]
    assert len(set(map(id, models))) == 1


def test_a_failed_load_is_tried_again_by_the_next_caller() -> None:
    """B171: the caller whose load fails gets the error; those who waited try again."""
    calls = []

    def load(key: str) -> object:
        calls.append(key)
        time.sleep(0.02)
        if len(calls) == 1:
            raise OSError("the network broke")
        return object()

    once = LoadOnce(load)
    results = ask_at_once(once.get, 8)
    assert len(calls) == 2
    assert sum(isinstance(result, OSError) for result in results) == 1
    assert once.get("tiny") in results


def test_different_keys_load_side_by_side() -> None:
    together = threading.Barrier(2, timeout=5)
    once: LoadOnce[str, str] = LoadOnce(lambda key: f"{key} {together.wait() >= 0}")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(once.get, ["tiny", "base"])) == ["tiny True", "base True"]


def test_a_forgotten_value_is_loaded_anew() -> None:
    once = LoadOnce(lambda key: object())
    first = once.get("tiny")
    once.forget("tiny")
    once.forget("never loaded")
    assert once.get("tiny") is not first


def test_nothing_stays_behind_a_failing_key() -> None:
    def load(key: str) -> object:
        raise OSError(key)

    once = LoadOnce(load)
    for number in range(3):
        with pytest.raises(OSError, match=str(number)):
            once.get(str(number))
    assert not once._loading
    assert not once._values
