"""The bytes of every text token, read from the vocabulary files beside the weights.

Those files write bytes in GPT-2's printable alphabet: a byte that prints stands for itself, any other becomes
a letter from U+0100 on. Special tokens (end of text and all after it) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from sasayaki.checkpoints.side_files import SideFiles
from sasayaki.errors import CheckpointError

END_OF_TEXT = "<|endoftext|>"


def read_vocabulary(files: SideFiles) -> dict[bytes, int] | None:
    """Bytes of every text token to its id, or None when no vocabulary lies beside the weights.

    Looked for in tokenizer.json, vocab.json, vocabulary.json and vocabulary.txt, in this order.

    Raises:
        CheckpointError: the file found is damaged.
    """
    for name in ("tokenizer.json", "vocab.json", "vocabulary.json", "vocabulary.txt"):
        if (path := files.find(name)) is None:
            continue
        if name.endswith(".txt"):
            listed: object = (files.text(name) or "").split("\n")
        else:
            listed = files.json(name)
        return text_tokens(_token_ids(listed, str(path)), str(path))
    return None


def text_tokens(ids: Mapping[str, int], source: str) -> dict[bytes, int]:
    """Bytes to id of the tokens before the end of text, from the printable form of GPT-2's vocabularies."""
    end = ids.get(END_OF_TEXT, len(ids))
    texts = {to_bytes(token): index for token, index in ids.items() if index < end}
    if not texts or min(texts.values()) < 0:
        raise CheckpointError(f"{source} holds no usable text tokens; fetch the model again")
    return texts


def to_bytes(token: str) -> bytes:
    """Undo GPT-2's printable alphabet; a token with other characters (an added one) is its own text."""
    alphabet = _bytes_of_letters()
    if all(letter in alphabet for letter in token):
        return bytes(alphabet[letter] for letter in token)
    return token.encode("utf-8", errors="surrogatepass")


@cache
def _bytes_of_letters() -> dict[str, int]:
    """Printable bytes are their own Latin-1 letters, the others take U+0100, U+0101, … in order."""
    printable = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
    others = (byte for byte in range(256) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def _token_ids(listed: object, source: str) -> dict[str, int]:
    """Token to id, from a tokenizer.json, a mapping of tokens to ids, or a list of tokens in order of id."""
    if isinstance(listed, dict) and isinstance(model := listed.get("model"), dict):
        return _token_ids(model.get("vocab"), source) | _added_tokens(listed.get("added_tokens"))
    if isinstance(listed, list) and all(isinstance(token, str) for token in listed):
        # Of equal tokens the first keeps its id; only padded or damaged lists have any.
        return {token: index for index, token in reversed(list(enumerate(listed)))}
    if isinstance(listed, dict) and all(type(index) is int for index in listed.values()):
        return listed
    raise CheckpointError(f"{source} is no vocabulary: expected token to id, or a list of tokens")


def _added_tokens(added: object) -> dict[str, int]:
    """The end of text among the added tokens: all that is needed to leave the others out."""
    tokens = [token for token in added if isinstance(token, dict)] if isinstance(added, list) else []
    ends = [token.get("id") for token in tokens if token.get("content") == END_OF_TEXT]
    return {END_OF_TEXT: ends[0]} if ends and type(ends[0]) is int else {}
