"""Loads each thing once, however many threads ask for it at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LoadOnce(Generic[Key, Value]):
    """A loader whose results are kept and shared.

    Callers that ask for a key while it is being loaded wait for that load. If it fails, its caller gets the
    error and the next caller tries again. Different keys load side by side.

    Args:
        loader: gives the value of a key; it must not ask this object for the same key.
    """

    def __init__(self, loader: Callable[[Key], Value]) -> None:
        self._loader = loader
        self._values: dict[Key, Value] = {}
        self._loading: set[Key] = set()
        self._changed = threading.Condition()

    def get(self, key: Key) -> Value:
        """The value of `key`, loaded if it is not there yet; raises what the loader raises."""
        with self._changed:
            self._changed.wait_for(lambda: key not in self._loading)
            if key in self._values:
                return self._values[key]
            self._loading.add(key)
        try:
            value = self._loader(key)
            with self._changed:
                self._values[key] = value
            return value
        finally:
            with self._changed:
                self._loading.discard(key)
                self._changed.notify_all()

    def forget(self, key: Key) -> None:
        """Let go of the value of `key`, so that it can be freed and the next caller loads it anew."""
        with self._changed:
            self._values.pop(key, None)
