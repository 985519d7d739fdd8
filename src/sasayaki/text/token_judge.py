"""Which text tokens are banned by regular expressions over what they spell."""

from __future__ import annotations

import codecs
import math
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sasayaki.errors import OptionError
from sasayaki.text.patterns import compile_pattern
from sasayaki.text.tokenizer import Tokenizer

_BROKEN = "\ufffd"


@lru_cache(maxsize=16)
def token_judge(tokenizer: Tokenizer, allow: str | None, deny: str | None) -> TokenJudge:
    """The judge of a vocabulary and two patterns, made once for equal ones: a pass over all tokens takes long."""
    return TokenJudge(tokenizer, allow, deny)


class TokenJudge:
    """Decides which text tokens two patterns leave.

    The text of a token is its characters, the leading space included. A character that is spelled by several tokens
    is judged with the token that completes it; a token that only begins one is banned when none of the characters
    that it can begin is allowed.

    Args:
        tokenizer: of the model's vocabulary.
        allow: what the whole text of a token must match; None allows all.
        deny: what may not be found in the text of a token; None denies nothing.

    Raises:
        OptionError: a pattern is no regular expression, or no text token is left.
    """

    def __init__(self, tokenizer: Tokenizer, allow: str | None, deny: str | None) -> None:
        self._allow = None if allow is None else compile_pattern("allow_tokens", allow)
        self._deny = None if deny is None else compile_pattern("deny_tokens", deny)
        self._eot = tokenizer.eot
        self._pieces = [tokenizer.token_bytes(token) for token in range(tokenizer.eot)]
        self._parts = {token for token, piece in enumerate(self._pieces) if not _is_whole(piece)}
        self._tails = [token for token in self._parts if 0x80 <= self._pieces[token][0] < 0xC0]
        allowed = [self._is_allowed(piece) for piece in self._pieces]
        if not any(is_allowed for is_allowed, piece in zip(allowed, self._pieces, strict=True) if piece):
            given = {"allow_tokens": allow, "deny_tokens": deny}
            named = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
            raise OptionError(
                f"no text token is left by {named}; the text of most tokens that begin a word has a leading space"
            )
        self._masks = {b"": _mask(allowed)}

    def begun_character(self, tokens: Sequence[int]) -> bytes:
        """Bytes of a character that the text of `tokens` has begun and not completed."""
        data = b""
        for token in reversed(tokens):
            if token < self._eot:
                piece = self._pieces[token]
                data = piece + data
                if (piece and token not in self._parts) or len(data) > 3:
                    break
        return _decode(data)[1] if data else b""

    def mask(self, begun: bytes) -> npt.NDArray[np.float32]:
        """0 or -inf for every text token, (n_text,), where the text so far ends inside a character."""
        if begun not in self._masks:
            mask = self._masks[b""].copy()
            if not self._is_fit(_BROKEN):  # what comes of the character unless the next token goes on with it
                mask[:] = -math.inf
            mask[self._tails] = _mask([self._is_allowed(begun + self._pieces[token]) for token in self._tails])
            self._masks[begun] = mask
        return self._masks[begun]

    def _is_allowed(self, data: bytes) -> bool:
        text, begun = _decode(data)
        return (not text or self._is_fit(text)) and (not begun or any(map(self._is_fit, _characters(begun))))

    def _is_fit(self, text: str) -> bool:
        return (self._allow is None or self._allow.fullmatch(text) is not None) and (
            self._deny is None or self._deny.search(text) is None
        )


def _mask(allowed: Sequence[bool]) -> npt.NDArray[np.float32]:
    return np.where(allowed, 0.0, -math.inf).astype(np.float32)


def _is_whole(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _decode(data: bytes) -> tuple[str, bytes]:
    """Text, broken bytes as U+FFFD, and the bytes of a character begun at the end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data)
    return text, decoder.getstate()[0]


def _characters(begun: bytes) -> Iterator[str]:
    """The characters whose UTF-8 begins with these bytes; of those that Unicode leaves open, one for all."""
    length = 2 if begun[0] < 0xE0 else 3 if begun[0] < 0xF0 else 4
    first = begun[0] & (0x7F >> length)
    for byte in begun[1:]:
        first = first << 6 | byte & 0x3F
    free_bits = 6 * (length - len(begun))
    codes = range(first << free_bits, min((first + 1) << free_bits, 0x110000))
    least = {2: 0x80, 3: 0x800, 4: 0x10000}[length]
    has_open = False
    for character in map(chr, range(max(codes.start, least), codes.stop)):
        category = unicodedata.category(character)
        if category not in ("Cn", "Co", "Cs"):
            yield character
        elif category != "Cs" and not has_open:
            has_open = True
            yield character
