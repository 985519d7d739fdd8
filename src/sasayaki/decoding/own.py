"""Keeps what users wrote, filters and scorers, to its contract, so that its mistakes are not looked for elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from array_api_compat import array_namespace

from sasayaki.errors import OptionError
from sasayaki.inference.base import Array


class OwnCode:
    """Calls what the user wrote and checks what it did. On a GPU the check waits for the array.

    Args:
        role: `filter` or `scorer`, for messages.
        name: of its class.
        change: changes an array (n_batch, n_vocab) in place, told what each row has sampled. It may leave single
            hypotheses without any token, which ends them, but not all.
    """

    def __init__(self, role: str, name: str, change: Callable[[Array, Sequence[tuple[int, ...]]], object]) -> None:
        self._role = role
        self._name = name
        self._change = change

    def __call__(self, array: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Let it change the array.

        Raises:
            OptionError: it raised, returned something, changed the shape or dtype, or left no token, or values that
                are not numbers. The message names its class and the step.
        """
        was_possible = _is_possible(array)
        before = (tuple(array.shape), array.dtype)
        step = len(sampled[0])  # the rows of one window have equal lengths
        try:
            returned = self._change(array, sampled)
        except Exception as error:
            raise self._error(step, f"raised {type(error).__name__}: {error}") from error
        if returned is not None:
            raise self._error(step, f"returned {type(returned).__name__}; change the logits in place, return nothing")
        after = (tuple(array.shape), array.dtype)
        if after != before:
            raise self._error(
                step, f"made logits of {before[1]} {before[0]} into {after[1]} {after[0]}; keep shape and dtype"
            )
        xp = array_namespace(array)
        peaks = xp.max(array, axis=-1)
        if xp.any(xp.isnan(peaks) | (peaks == xp.inf)):
            raise self._error(step, "left logits that are NaN or inf; set finite numbers, or -inf to forbid")
        if was_possible and not xp.any(xp.isfinite(peaks)):
            raise self._error(step, "forbids every token; leave one possible, such as the end token")

    def _error(self, step: int, fault: str) -> OptionError:
        return OptionError(f"the {self._role} {self._name} {fault} (step {step})")


def _is_possible(array: Array) -> bool:
    """Whether any row has a token left."""
    xp = array_namespace(array)
    return bool(xp.any(xp.isfinite(xp.max(array, axis=-1))))
