"""Loops: runs of tokens that a hypothesis repeats again and again, and the search that breaks them where they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from sasayaki.decoding.search import Beam, Candidates, SearchState, TokenDecoder
from sasayaki.inference.base import Array

MIN_REPEATS = 4
"""Fewer repeats are no loop, however long the phrase: three times is a charm."""

MIN_TOKENS = 32
"""Fewer repeated tokens are no loop, however short the phrase. Digits said ten times took up to 31 tokens of tiny.en,
nearly all loops in noise more than 32 (docs/log.md)."""

N_GRAM, SPAN, MIN_ECHOES = 5, 40, 25
"""A loop whose turns differ a little: of the last `SPAN` text tokens so many begin an n-gram that was begun three times
before. In the texts of speech/open none does; a text of 449 tokens in Georgian, three for each letter, has 11."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A cycle at the end of a hypothesis; places are indices into its tokens, timestamps counted.

    Attributes:
        period: text tokens in one turn.
        repeats: whole turns.
        begin: place where the first turn begins.
        second: place where the second turn begins.
        third: place where the third turn begins.
        middle: place of the loop's middle, or where the fourth turn begins when turns differ.
    """

    period: int
    repeats: int
    begin: int
    second: int
    third: int
    middle: int


def find_loop(tokens: Sequence[int], timestamp_begin: int) -> Loop | None:
    """The loop that `tokens` end in, or None.

    Timestamps do not break a loop and are no part of it. A loop has at least `MIN_REPEATS` turns and `MIN_TOKENS`
    text tokens: how many turns it takes depends on the length of a turn, 32 of one token, 11 of three, 4 of eight or
    more. Failing that, it is the last `SPAN` text tokens when they hardly
    say anything new. Costs next to nothing where the last token is no frequent one.
    """
    last = next((token for token in reversed(tokens) if token < timestamp_begin), None)
    if len(tokens) < MIN_TOKENS or last is None or tokens.count(last) < MIN_REPEATS:
        return None
    places = [place for place, token in enumerate(tokens) if token < timestamp_begin]
    text = [tokens[place] for place in places]
    for period in range(1, len(text) // MIN_REPEATS + 1):
        length = _periodic_length(text, period)
        if length >= max(MIN_TOKENS, MIN_REPEATS * period):
            begin = len(text) - length
            return Loop(
                period=period,
                repeats=length // period,
                begin=places[begin],
                second=places[begin + period],
                third=places[begin + 2 * period],
                middle=places[begin + length // 2],
            )
    return _find_loose_loop(text, places)


def _find_loose_loop(text: Sequence[int], places: Sequence[int]) -> Loop | None:
    """The loop at the end of `text` whose turns differ; they begin where its first n-gram is said."""
    said: dict[tuple[int, ...], list[int]] = {}
    echoes = []
    for start in range(len(text) - N_GRAM + 1):
        starts = said.setdefault(tuple(text[start : start + N_GRAM]), [])
        starts.append(start)
        if len(starts) >= MIN_REPEATS and start >= len(text) - SPAN:
            echoes.append(starts)
    if len(echoes) < MIN_ECHOES:
        return None
    begin, second, third, middle = echoes[0][:MIN_REPEATS]
    return Loop(
        period=second - begin,
        repeats=MIN_REPEATS,
        begin=places[begin],
        second=places[second],
        third=places[third],
        middle=places[middle],
    )


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
    log-probabilities of that alone, for the sure repeats of a loop would speak for it. Others that are in the same
    loop go with it: those that have come with it as far as its middle, and those that have ended, or are about to,
    when they left it later than its second turn.

    Args:
        decoder: the search.
        timestamp_begin: id of `<|0.00|>`.
    """

    def __init__(self, decoder: TokenDecoder, timestamp_begin: int) -> None:
        self._decoder = decoder
        self._timestamp_begin = timestamp_begin

    @property
    def n_candidate(self) -> int | None:
        """That of the other search."""
        return self._decoder.n_candidate

    def propose(self, logits: Array, state: SearchState) -> Array:
        """The candidates of the other search."""
        return self._decoder.propose(logits, state)

    def advance(self, state: SearchState, candidates: Candidates) -> SearchState:
        """The other search's step, without the hypotheses that loop."""
        after = self._decoder.advance(state, candidates)
        loops = [(beam, loop) for beam in after.beams if (loop := find_loop(beam.tokens, self._timestamp_begin))]
        if not loops:
            return after
        rows = [row for row in zip(after.beams, after.sources, strict=True) if not _is_lost(row[0], loops)]
        kept = {(part.slot, part.tokens): part for part in (self._good_part(beam, loop) for beam, loop in loops)}
        finished = [beam for beam in after.finished if not _is_lost(beam, loops)]
        known = {(beam.slot, beam.tokens) for beam in finished}
        return SearchState(
            beams=tuple(beam for beam, _ in rows),
            sources=tuple(source for _, source in rows),
            finished=(*finished, *(part for key, part in kept.items() if key not in known)),
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


def _is_lost(beam: Beam, loops: Sequence[tuple[Beam, Loop]]) -> bool:
    """Whether a hypothesis is in one of these loops."""
    return any(beam.slot == looping.slot and _is_in(beam.tokens, looping.tokens, loop) for looping, loop in loops)


def _is_in(tokens: Sequence[int], looping: Sequence[int], loop: Loop) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(tokens, looping, strict=False)))
    # Room for half a turn more, a full stop, a timestamp and the end.
    is_ending = len(tokens) - shared <= loop.period + 3
    return shared >= loop.middle or (shared >= loop.third and is_ending)
