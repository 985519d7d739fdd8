"""A filter of your own: nothing is said twice. Keeps state, and may be shared by any number of recordings.

python examples/own_filter.py recording.wav
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import sasayaki
from sasayaki.decoding.states import HypothesisStates


class NoWordTwice:
    """Bans a token that the hypothesis has already sampled, for tokens that begin a word of four letters or more.

    The state of a hypothesis is the set of tokens that it may not sample again. It follows the hypothesis through
    beam search, as it is found by the tokens that were sampled.
    """

    def __init__(self, tokenizer: Any) -> None:
        texts = {token: tokenizer.token_bytes(token) for token in range(tokenizer.eot)}
        words = {token for token, text in texts.items() if text[:1] == b" " and text[1:].isalpha() and len(text) > 4}
        self.states = HypothesisStates(frozenset(), lambda said, token: said | ({token} & words))

    def apply(self, logits: Any, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logits` (n_batch, n_vocab) in place; `sampled` has the tokens of each row so far."""
        for row, said in enumerate(self.states.of(sampled)):
            logits[row, list(said)] = -math.inf


def main() -> None:
    """Transcribe a recording without the filter and with it."""
    model = sasayaki.load_model("base", precision="float32")
    for filters in ([], [NoWordTwice(model.tokenizer)]):
        print(model.transcribe(sys.argv[1], filters=filters).text)


if __name__ == "__main__":
    main()
