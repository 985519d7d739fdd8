"""Ends a transcription between two steps of the decoder: on the caller's word, or when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable

from sasayaki.errors import StoppedError
from sasayaki.option_values import check_call, check_time_limit

Cancel = Callable[[], bool]
"""Asked before every step; True ends the transcription."""


class Stop:
    """Knows whether to go on.

    Args:
        cancel: asked at every `check`; None never ends anything.
        time_limit: seconds from now on, in which the transcription has to be done; None sets no limit.
        clock: seconds that only grow.

    Raises:
        OptionError: the limit is not a number above 0, or `cancel` cannot be called.
    """

    def __init__(
        self,
        cancel: Cancel | None = None,
        time_limit: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_call("cancel", cancel)
        check_time_limit(time_limit)
        self._cancel = cancel
        self._time_limit = time_limit
        self._clock = clock
        self._began = clock()

    def check(self) -> None:
        """Do nothing if the transcription may go on.

        Raises:
            StoppedError: if it may not.
        """
        if self._cancel is not None and self._cancel():
            raise StoppedError("the transcription was cancelled", reason="cancel")
        if self._time_limit is not None and self._clock() - self._began > self._time_limit:
            raise StoppedError(f"the transcription took longer than time_limit={self._time_limit}", reason="time_limit")
