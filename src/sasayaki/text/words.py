"""Group token ids into words: at spaces and punctuation, or at characters where a script has no spaces.

Pure functions over the bytes of each token. A special token has None in place of bytes.
"""

from __future__ import annotations

import codecs
import string
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(slots=True)
class TokenWord:
    """A word, or a part of one, with the tokens that spell it.

    Attributes:
        text: the word with its leading space; empty for a special token.
        tokens: its ids in order, at least one.
        is_special: whether it is a special token, which always stands by itself.
    """

    text: str
    tokens: list[int]
    is_special: bool = False


def split_on_characters(pieces: Iterable[tuple[int, bytes | None]]) -> list[TokenWord]:
    """The shortest runs of tokens that hold whole characters.

    Args:
        pieces: (token id, its bytes or None for a special token), in order.

    Returns:
        Runs in order that hold every id once. Their joined texts are the decoded text: broken bytes are
        U+FFFD, an incomplete character at the very end is nothing. Tokens without text belong to the run
        before. A special token is a run of its own unless it cuts a character, which then is one run with it.
    """
    runs: list[TokenWord] = []
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = ""
    unfinished: list[tuple[int, bytes | None]] = []
    for token, data in pieces:
        if unfinished and data and not 0x80 <= data[0] < 0xC0:  # this character will never be complete
            _close_run(runs, text + decoder.decode(b"", final=True), unfinished)
            text, unfinished = "", []
        unfinished.append((token, data))
        text += decoder.decode(data or b"")
        if not decoder.getstate()[0]:
            _close_run(runs, text, unfinished)
            text, unfinished = "", []
    _close_run(runs, text, unfinished)
    return runs


def split_on_spaces(pieces: Iterable[tuple[int, bytes | None]]) -> list[TokenWord]:
    """Words that begin at a space, at ASCII punctuation or beside a special token."""
    words: list[TokenWord] = []
    for run in split_on_characters(pieces):
        stands_alone = run.is_special or run.text.strip() in string.punctuation
        if not words or words[-1].is_special or stands_alone or run.text.startswith(" "):
            words.append(run)
        else:
            words[-1].text += run.text
            words[-1].tokens += run.tokens
    return words


def _close_run(runs: list[TokenWord], text: str, pieces: list[tuple[int, bytes | None]]) -> None:
    """Append a run of these pieces, and one for each special token at their end, to `runs` in place."""
    n_text = len(pieces)
    while n_text and pieces[n_text - 1][1] is None:
        n_text -= 1
    tokens = [token for token, _ in pieces]
    if n_text and not text and runs and not runs[-1].is_special:
        runs[-1].tokens += tokens[:n_text]
    elif n_text:
        runs.append(TokenWord(text, tokens[:n_text]))
    runs += [TokenWord("", [token], is_special=True) for token in tokens[n_text:]]
