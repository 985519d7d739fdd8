"""Loops: runs of tokens that a hypothesis repeats again and again, and the search that breaks them where they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sasayaki.decoding.search import Beam, Candidates, SearchState, TokenDecoder
from sasayaki.inference.base import Array

MIN_REPEATS = 5
"""Fewer repeats are no loop, however long the phrase: a chorus is sung four times."""

MIN_TOKENS = 32
"""Fewer repeated tokens are no loop, however short the phrase. Digits said ten times took up to 31 tokens of tiny.en,
nearly all loops in noise more than 32 (docs/log.md)."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A cycle at the end of a hypothesis; places are indices into its tokens, timestamps counted.

    Attributes:
        period: text tokens in one turn.
        repeats: whole turns.
        begin: place where the first turn begins.
        second: place where the second turn begins.
        middle: place of the loop's middle; what has come so far with it is lost in it.
    """

    period: int
    repeats: int
    begin: int
    second: int
    middle: int


def find_loop(tokens: Sequence[int], timestamp_begin: int) -> Loop | None:
    """The loop that `tokens` end in, or None.

    Timestamps do not break a loop and are no part of it. A loop has at least `MIN_REPEATS` turns and `MIN_TOKENS`
    text tokens: how many turns it takes depends on the length of a turn, 32 of one token, 11 of three, 5 of seven or
    more. Costs one comparison for each possible period where there is none.
    """
    if len(tokens) < MIN_TOKENS:
        return None
    text = [token for token in tokens if token < timestamp_begin]
    for period in range(1, len(text) // MIN_REPEATS + 1):
        length = _periodic_length(text, period)
        if length >= max(MIN_TOKENS, MIN_REPEATS * period):
            places = [place for place, token in enumerate(tokens) if token < timestamp_begin]
            begin = len(text) - length
            return Loop(
                period=period,
                repeats=length // period,
                begin=places[begin],
                second=places[begin + period],
                middle=places[begin + length // 2],
            )
    return None


def _periodic_length(text: Sequence[int], period: int) -> int:
    """Length of the longest end of `text` in which every token equals the one a period before it."""
    place = len(text) - 1
    while place >= period and text[place] == text[place - period]:
        place -= 1
    matched = len(text) - 1 - place
    return matched + period if matched else 0


def good_length(tokens: Sequence[int], loop: Loop, timestamp_begin: int) -> int:
    """How many tokens to keep of a hypothesis that ends in a loop.

    Segments that ended before the loop began are kept up to the start of the next one, so that a window can begin
    there. If there is none, all up to the end of the loop's first turn is kept, without an end of its own.
    """
    for place in range(loop.begin - 1, 0, -1):
        if tokens[place] >= timestamp_begin and tokens[place - 1] >= timestamp_begin:
            return place + 1
    kept = loop.second
    while kept > loop.begin and tokens[kept - 1] >= timestamp_begin:
        kept -= 1
    return kept


class LoopBreaker:
    """A search that ends hypotheses at their loops; all else is left to another search.

    A hypothesis that loops leaves the living ones and becomes a finished one: what came before the loop, with the
    log-probabilities of that alone, for the sure repeats of a loop would speak for it. Those that have gone the same
    way up to the loop's middle leave with it.

    Args:
        decoder: the search.
        timestamp_begin: id of `<|0.00|>`.
    """

    def __init__(self, decoder: TokenDecoder, timestamp_begin: int) -> None:
        self._decoder = decoder
        self._timestamp_begin = timestamp_begin

    def propose(self, logits: Array, state: SearchState) -> Array:
        """The candidates of the other search."""
        return self._decoder.propose(logits, state)

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """The other search's step, without the hypotheses that loop."""
        after = self._decoder.advance(state, candidates)
        lost: list[tuple[int, tuple[int, ...]]] = []
        finished = list(after.finished)
        for beam in after.beams:
            loop = find_loop(beam.tokens, self._timestamp_begin)
            if loop is not None:
                lost.append((beam.slot, beam.tokens[: loop.middle]))
                kept = self._good_part(beam, loop)
                if all(kept.tokens != other.tokens or kept.slot != other.slot for other in finished):
                    finished.append(kept)
        if not lost:
            return after
        rows = [
            (beam, source)
            for beam, source in zip(after.beams, after.sources, strict=True)
            if not any(beam.slot == slot and beam.tokens[: len(head)] == head for slot, head in lost)
        ]
        return replace(
            after,
            beams=tuple(beam for beam, _ in rows),
            sources=tuple(source for _, source in rows),
            finished=tuple(finished),
            is_done=after.is_done or not rows,
        )

    def _good_part(self, beam: Beam, loop: Loop) -> Beam:
        """What is kept; what scorers have added is left out, for it may be the loop's."""
        length = good_length(beam.tokens, loop, self._timestamp_begin)
        logprobs = beam.logprobs[:length]
        return Beam(
            tokens=beam.tokens[:length],
            logprobs=logprobs,
            raw_logprobs=beam.raw_logprobs[:length],
            sum_logprob=sum(logprobs),
            slot=beam.slot,
            stop="cut" if beam.tokens[length - 1] >= self._timestamp_begin else "loop",
        )

    def finish(self, state: SearchState) -> Sequence[Beam]:
        """The hypotheses of the other search."""
        return self._decoder.finish(state)
