"""Shallow fusion: a small n-gram model of your own text helps the search to choose between words that sound alike.

python examples/ngram_scorer.py recording.wav notes.txt
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import sasayaki


class NgramScorer:
    """Adds `weight` * log(P(token | the tokens before it) / P(unseen)) for tokens that a text has after that context.

    The longest context that the text knows decides, up to `order` - 1 tokens. Tokens that it never has there, the end
    and timestamps keep their score, so what the text does not cover is decoded as ever.

    Args:
        lines: token ids of each line of the text.
        n_text: ids below this are text.
        order: length of the longest n-gram.
        weight: how much the text counts beside the model.
        unseen: probability below which a token counts as unseen.
    """

    def __init__(
        self, lines: Iterable[Sequence[int]], n_text: int, order: int = 3, weight: float = 0.3, unseen: float = 1e-3
    ) -> None:
        self._n_text = n_text
        self._order = order
        counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for line in lines:
            for place, token in enumerate(line):
                for length in range(min(order, place + 1)):
                    counts[tuple(line[place - length : place])][token] += 1
        self._gains = {
            context: {
                token: gain
                for token, count in followers.items()
                if (gain := weight * math.log(count / (followers.total() + 1) / unseen)) > 0
            }
            for context, followers in counts.items()
        }

    def adjust(self, logprobs: Any, sampled: Sequence[tuple[int, ...]]) -> None:
        """Change `logprobs` (n_batch, n_vocab) in place; `sampled` has the tokens of each row so far."""
        for row, tokens in enumerate(sampled):
            text = tuple(token for token in tokens if token < self._n_text)
            for length in range(min(self._order - 1, len(text)), 0, -1):
                gains = self._gains.get(text[-length:])
                if gains:
                    for token, gain in gains.items():
                        logprobs[row, token] += gain
                    break


def main() -> None:
    """Transcribe a recording twice: without the text and with it."""
    recording, notes = sys.argv[1:]
    model = sasayaki.load_model("base")
    lines = [model.tokenizer.encode(" " + line.strip()) for line in Path(notes).read_text("utf-8").splitlines()]
    scorer = NgramScorer(lines, n_text=model.tokenizer.eot)
    for scorers in ([], [scorer]):
        print(model.transcribe(recording, scorers=scorers).text)


if __name__ == "__main__":
    main()
