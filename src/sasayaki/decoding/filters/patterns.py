"""The filter that bans text tokens by regular expressions over what they spell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sasayaki.decoding.arrays import like
from sasayaki.inference.base import Array
from sasayaki.text.token_judge import token_judge
from sasayaki.text.tokenizer import Tokenizer


class MatchTokens:
    """Bans text tokens by what they spell; see `TokenJudge`. The end, control tokens and timestamps are not touched.

    Args:
        tokenizer: of the model's vocabulary.
        allow: what the whole text of a token must match; None allows all.
        deny: what may not be found in the text of a token; None denies nothing.

    Raises:
        OptionError: a pattern is no regular expression, or no text token is left.
    """

    def __init__(self, tokenizer: Tokenizer, *, allow: str | None = None, deny: str | None = None) -> None:
        self._judge = token_judge(replace(tokenizer, language=None, task=None), allow, deny)
        self._native: dict[bytes, Array] = {}

    def apply(self, logits: Array, sampled: Sequence[tuple[int, ...]]) -> None:
        """Mask `logits` (n_batch, n_vocab) in place."""
        begun = [self._judge.begun_character(tokens) for tokens in sampled]
        if not any(begun):
            self._ban(logits, b"")
            return
        for row, data in enumerate(begun):
            self._ban(logits[row], data)

    def _ban(self, logits: Array, begun: bytes) -> None:
        if begun not in self._native:
            self._native[begun] = like(self._judge.mask(begun), logits)
        native = self._native[begun]
        text = logits[..., : native.shape[0]]
        text += native
