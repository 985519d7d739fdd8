"""Which hypotheses live on after a step of beam search: the best of all, or the best of groups that keep apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sasayaki.decoding.search import Beam


@dataclass(frozen=True, slots=True)
class Offer:
    """A hypothesis that could live on or end, and the row that it continues."""

    row: int
    beam: Beam


@dataclass(frozen=True, slots=True)
class Selection:
    """What a step keeps.

    Attributes:
        living: offers that live on, best first within their group.
        ended: offers with the end token that were met on the way, best first within their group.
    """

    living: tuple[Offer, ...]
    ended: tuple[Offer, ...]


def select(offers: Sequence[Offer], eot: int, beam_size: int, *, n_group: int = 1, diversity: float = 0.0) -> Selection:
    """Walk offers from the best down until `beam_size` of them live on.

    With several groups (https://arxiv.org/abs/1610.02424, with its Hamming diversity) each has an equal share of the
    beams, and `Beam.slot` is its number. Groups choose in turn; a token that earlier groups have taken in this step
    counts `diversity` less for each of them. Only the choice is changed by that, no score.
    """
    if n_group == 1:
        return _walk(offers, eot, beam_size)
    taken: Counter[int] = Counter()
    groups = []
    for group in range(n_group):
        own = _offers_of(offers, group)
        chosen = _walk(own, eot, beam_size // n_group, {token: diversity * n for token, n in taken.items()})
        taken.update(offer.beam.tokens[-1] for offer in chosen.living)
        groups.append(chosen)
    return Selection(
        tuple(offer for chosen in groups for offer in chosen.living),
        tuple(offer for chosen in groups for offer in chosen.ended),
    )


def _offers_of(offers: Sequence[Offer], group: int) -> list[Offer]:
    """The offers of one group; in the first step, when all grow from one row, every group has them all."""
    if len(offers[0].beam.tokens) > 1:
        return [offer for offer in offers if offer.beam.slot == group]
    return [Offer(offer.row, replace(offer.beam, slot=group)) for offer in offers]


def _walk(offers: Sequence[Offer], eot: int, n_beam: int, penalties: dict[int, float] | None = None) -> Selection:
    def rank(offer: Offer) -> float:
        return offer.beam.sum_score - (penalties.get(offer.beam.tokens[-1], 0.0) if penalties else 0.0)

    living: list[Offer] = []
    ended: list[Offer] = []
    for offer in sorted(offers, key=rank, reverse=True):
        if offer.beam.tokens[-1] == eot:
            ended.append(offer)
            continue
        living.append(offer)
        if len(living) == n_beam:
            break
    return Selection(tuple(living), tuple(ended))
