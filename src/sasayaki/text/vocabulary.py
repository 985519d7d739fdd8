"""Text vocabularies: the bytes of every text token, shipped with the package, and encoders built from them.

The published models have two: GPT-2's for English-only models, and one of the same size for all others.
Each is a gzip file: one byte per token, its length, then the bytes of all tokens in order of their ids.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import tiktoken

from sasayaki.errors import CheckpointError
from sasayaki.text.special_tokens import SpecialTokens

# How text is cut before byte pairs are merged, as published with GPT-2.
_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def load_ranks(n_vocab: int) -> dict[bytes, int]:
    """Bytes of every text token to its id, for a vocabulary of 51864, 51865 or 51866 tokens.

    Raises:
        CheckpointError: no Whisper vocabulary has this size.
    """
    special = SpecialTokens.for_vocab(n_vocab)
    name = "multilingual" if special.is_multilingual else "english"
    packed = gzip.decompress(files("sasayaki.text").joinpath("assets", f"{name}.gz").read_bytes())
    ends = list(itertools.accumulate(packed[: special.eot], initial=special.eot))
    return {packed[start:end]: token for token, (start, end) in enumerate(itertools.pairwise(ends))}


@lru_cache(maxsize=4)
def shipped_encoding(n_vocab: int) -> tiktoken.Encoding:
    """The encoder of a published vocabulary (51864, 51865 or 51866 tokens), built once."""
    return build_encoding(load_ranks(n_vocab), SpecialTokens.for_vocab(n_vocab))


def build_encoding(vocabulary: Mapping[bytes, int], special: SpecialTokens) -> tiktoken.Encoding:
    """The encoder of a vocabulary, built once for equal ones.

    Args:
        vocabulary: bytes of every text token to its id; entries from `special.eot` on are left out.
        special: the special tokens around it.

    Raises:
        CheckpointError: a text token or one of the 256 single bytes is missing, or two tokens share an id.
    """
    text = frozenset((piece, token) for piece, token in vocabulary.items() if token < special.eot)
    return _build(text, special)


@lru_cache(maxsize=8)
def _build(text: frozenset[tuple[bytes, int]], special: SpecialTokens) -> tiktoken.Encoding:
    ranks = dict(sorted(text, key=lambda entry: entry[1]))
    missing = sorted(set(range(special.eot)) - set(ranks.values()))
    # Some formats drop the empty token that multilingual models have.
    if len(missing) == 1 and b"" not in ranks:
        ranks[b""] = missing.pop()
    lost_bytes = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing or lost_bytes or len(ranks) != special.eot:
        raise CheckpointError(
            f"a vocabulary must give each text token id from 0 to {special.eot - 1} once; this one has "
            f"{len(ranks)} tokens and misses {len(missing)} ids {missing[:5]} and {len(lost_bytes)} single "
            f"bytes {lost_bytes[:5]}; get the model's file again"
        )
    return tiktoken.Encoding(
        name=f"whisper-{special.n_vocab}",
        pat_str=_PATTERN,
        mergeable_ranks=ranks,
        special_tokens=special.spellings(),
        explicit_n_vocab=special.n_vocab,
    )
