"""The prompt of each window: the initial prompt, and what was said before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Context:
    """What the next window is told.

    Attributes:
        initial: tokens of the initial prompt.
        previous: tokens of the text since the last reset, the last `limit` of them.
        is_carried: whether `initial` stands before the prompt of every window.
        limit: most tokens of a prompt.
    """

    initial: tuple[int, ...]
    previous: tuple[int, ...]
    is_carried: bool
    limit: int

    @classmethod
    def begin(cls, initial: Sequence[int], *, is_carried: bool, limit: int) -> Context:
        """The context of the first window."""
        return cls(tuple(initial), () if is_carried else tuple(initial), is_carried, limit)

    def prompt(self) -> tuple[int, ...]:
        """Prompt tokens for the next window, at most `limit`: the carried prompt first, then the latest text."""
        carried = _last(self.initial, self.limit) if self.is_carried else ()
        return (*carried, *_last(self.previous, self.limit - len(carried)))

    def anew(self) -> Context:
        """The context of the first window."""
        return Context.begin(self.initial, is_carried=self.is_carried, limit=self.limit)

    def after(self, tokens: Sequence[int], *, is_kept: bool) -> Context:
        """The context after a window with these tokens; a window that is not to be trusted resets it."""
        return replace(self, previous=_last((*self.previous, *tokens), self.limit) if is_kept else ())


def _last(tokens: tuple[int, ...], limit: int) -> tuple[int, ...]:
    return tokens[max(0, len(tokens) - limit) :]
