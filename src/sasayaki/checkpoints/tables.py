"""Facts about the official models that their files do not carry: the heads whose attention follows the audio.

The pairs are openai/whisper's, found by its authors by looking at the attention of every head.
"""

from __future__ import annotations

# fmt: off
_ALIGNMENT_HEADS: dict[str, tuple[tuple[int, int], ...]] = {
    "tiny.en": ((1, 0), (2, 0), (2, 5), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)),
    "tiny": ((2, 2), (3, 0), (3, 2), (3, 3), (3, 4), (3, 5)),
    "base.en": ((3, 3), (4, 7), (5, 1), (5, 5), (5, 7)),
    "base": ((3, 1), (4, 2), (4, 3), (4, 7), (5, 1), (5, 2), (5, 4), (5, 6)),
    "small.en": (
        (6, 6), (7, 0), (7, 3), (7, 8), (8, 2), (8, 5), (8, 7), (9, 0), (9, 4), (9, 8), (9, 10), (10, 0),
        (10, 1), (10, 2), (10, 3), (10, 6), (10, 11), (11, 2), (11, 4),
    ),
    "small": ((5, 3), (5, 9), (8, 0), (8, 4), (8, 7), (8, 8), (9, 0), (9, 7), (9, 9), (10, 5)),
    "medium.en": (
        (11, 4), (14, 1), (14, 12), (14, 14), (15, 4), (16, 0), (16, 4), (16, 9), (17, 12), (17, 14), (18, 7),
        (18, 10), (18, 15), (20, 0), (20, 3), (20, 9), (20, 14), (21, 12),
    ),
    "medium": ((13, 15), (15, 4), (15, 15), (16, 1), (20, 0), (23, 4)),
    "large-v1": ((9, 19), (11, 2), (11, 4), (11, 17), (22, 7), (22, 11), (22, 17), (23, 2), (23, 15)),
    "large-v2": (
        (10, 12), (13, 17), (16, 11), (16, 12), (16, 13), (17, 15), (17, 16), (18, 4), (18, 11), (18, 19),
        (19, 11), (21, 2), (21, 3), (22, 3), (22, 9), (22, 12), (23, 5), (23, 7), (23, 13), (25, 5), (26, 1),
        (26, 12), (27, 15),
    ),
    "large-v3": (
        (7, 0), (10, 17), (12, 18), (13, 12), (16, 1), (17, 14), (19, 11), (21, 4), (24, 1), (25, 6),
    ),
    "large-v3-turbo": ((2, 4), (2, 11), (3, 3), (3, 6), (3, 11), (3, 14)),
}
# fmt: on

# Seconds from the start of a word to where each head looks, measured on words that start at known times;
# scripts/find_alignment_heads.py measures them for other models.
_HEAD_LAGS: dict[str, tuple[float, ...]] = {
    "tiny.en": (0.36, 0.35, 0.22, 0.3, 0.33, 0.11, 0.13, 0.28),
    "base": (0.03, -0.01, -0.03, 0.15, 0.07, -0.05, 0.13, 0.15),
}
_ALIASES = {"large": "large-v3", "turbo": "large-v3-turbo"}


def alignment_heads_for(name: str) -> tuple[tuple[int, int], ...] | None:
    """The (layer, head) pairs of an official model by its name ("base", "large-v3", "turbo", …).

    None for any other model: distilled and fine-tuned ones bring their own in generation_config.json.
    """
    return _ALIGNMENT_HEADS.get(_ALIASES.get(name, name))


def head_lags_for(heads: tuple[tuple[int, int], ...] | None) -> tuple[float, ...] | None:
    """How far behind the start of a word each head looks, in seconds.

    No two official models have the same heads, so these tell whose they are, whatever a model is called: one that was
    trained further keeps them.

    Args:
        heads: those that a model is used with, in any order.

    Returns:
        A lag for each head, or None where nobody measured them.
    """
    for name, lags in _HEAD_LAGS.items():
        known = dict(zip(_ALIGNMENT_HEADS[name], lags, strict=True))
        if heads and set(heads) == set(known):
            return tuple(known[head] for head in heads)
    return None
