"""Keeps a filter of the user's own to its contract, so that a mistake in it is not looked for elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from array_api_compat import array_namespace

from sasayaki.decoding.filters.base import LogitFilter
from sasayaki.errors import OptionError
from sasayaki.inference.base import Array


class OwnFilter:
    """Applies a filter of the user's and checks what it did. On a GPU the check waits for the logits.

    Args:
        inner: the filter. It may leave single hypotheses without any token, which ends them, but not all.
    """

    def __init__(self, inner: LogitFilter) -> None:
        self._inner = inner
        self.name = type(inner).__name__

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Let the filter change `logits` (n_batch, n_vocab) in place.

        Raises:
            OptionError: it raised, returned something, changed the shape or dtype, or left no token, or values that
                are not numbers. The message names its class and the step.
        """
        was_possible = _is_possible(logits)
        before = (tuple(logits.shape), logits.dtype)
        step = len(sampled[0])  # the rows of one window have equal lengths
        try:
            returned: object = self._inner.apply(logits, sampled)  # type: ignore[func-returns-value]
        except Exception as error:
            raise self._error(step, f"raised {type(error).__name__}: {error}") from error
        if returned is not None:
            raise self._error(step, f"returned {type(returned).__name__}; change the logits in place, return nothing")
        after = (tuple(logits.shape), logits.dtype)
        if after != before:
            raise self._error(
                step, f"made logits of {before[1]} {before[0]} into {after[1]} {after[0]}; keep shape and dtype"
            )
        xp = array_namespace(logits)
        peaks = xp.max(logits, axis=-1)
        if xp.any(xp.isnan(peaks) | (peaks == xp.inf)):
            raise self._error(step, "left logits that are NaN or inf; set finite numbers, or -inf to forbid")
        if was_possible and not xp.any(xp.isfinite(peaks)):
            raise self._error(step, "forbids every token; leave one possible, such as the end token")

    def _error(self, step: int, fault: str) -> OptionError:
        return OptionError(f"the filter {self.name} {fault} (step {step})")


def _is_possible(logits: Array) -> bool:
    """Whether any row has a token left."""
    xp = array_namespace(logits)
    return bool(xp.any(xp.isfinite(xp.max(logits, axis=-1))))
