"""Scorers of the user's own that go wrong."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from sasayaki.errors import OptionError
from tests.decoding.scripts import decode_one
from tests.fakes import say, text, ts

HELLO = say([ts(0.0), *text("hello"), ts(1.0)])


class GoesWrong:
    """Does something that a scorer must not, from the third token on."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def adjust(self, logprobs: Any, sampled: Any) -> Any:
        if len(sampled[0]) < 2:
            return None
        if self._kind == "raises":
            return {}["word"]
        if self._kind == "returns":
            return logprobs
        logprobs[:] = float(self._kind)
        return None


@pytest.mark.parametrize("beam_size", [None, 3])
@pytest.mark.parametrize(
    ("kind", "said"),
    [("raises", "raised KeyError: 'word'"), ("returns", "returned ndarray"), ("nan", "NaN or inf"),
     ("inf", "NaN or inf"), ("-inf", "forbids every token")],
)  # fmt: skip
def test_an_error_names_the_scorer_and_the_step(kind: str, said: str, beam_size: int | None) -> None:
    with pytest.raises(OptionError, match=rf"the scorer GoesWrong .*{re.escape(said)}.* \(step 2\)"):
        decode_one(HELLO, beam_size=beam_size, scorers=[GoesWrong(kind)])


def test_a_scorer_may_leave_single_hypotheses_without_a_token() -> None:
    class HalfWay:
        def adjust(self, logprobs: np.ndarray, sampled: Any) -> None:
            if len(logprobs) > 1:
                logprobs[1] = -math.inf

    assert decode_one(HELLO, beam_size=2, scorers=[HalfWay()]).text == "hello"
