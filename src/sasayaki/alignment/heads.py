"""The attention heads that follow the audio, and how far behind each of them looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

USUAL_LAG = 0.12
"""Lag in seconds of heads that nobody has measured: between those of tiny.en (0.26 on the mean) and base (0.06). Its
errors are 1.5 times those of measured lags for tiny.en and 2.2 times for base (docs/log.md)."""


@dataclass(frozen=True, slots=True)
class AlignmentHeads:
    """Heads of the cross-attention that look where the word is that comes next.

    Attributes:
        pairs: (layer, head) of each.
        lags: seconds from the start of a word to where each looks the most; `scripts/find_alignment_heads.py` measures
            them.
    """

    pairs: tuple[tuple[int, int], ...]
    lags: tuple[float, ...]

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, int]], lags: Sequence[float] | None = None) -> AlignmentHeads:
        """Heads with these lags, or with the usual one."""
        return cls(tuple(pairs), tuple(lags) if lags else (USUAL_LAG,) * len(pairs))

    @classmethod
    def unknown(cls, n_layer: int, n_head: int) -> AlignmentHeads:
        """All heads of the upper half of the layers: what is taken where nobody knows better."""
        return cls.of([(layer, head) for layer in range(n_layer // 2, n_layer) for head in range(n_head)])


NO_HEADS = AlignmentHeads((), ())
"""For work that asks for no attention."""
