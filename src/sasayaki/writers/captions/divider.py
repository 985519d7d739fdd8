"""Words divided into cues and lines: the division that breaks the fewest rules, and of those the one that reads best.

Dynamic programming over atoms. `best[k]` is the least cost of cues that hold the first `k` atoms, and a cue's cost
depends on its own atoms and on when the next one starts, which is known. Costs are whole numbers with a field for each
rule, the weightiest first, so that no number of lesser faults outweighs one greater fault:

1. cues that start late because the words before leave no time,
2. breaks inside names and numbers,
3. cues shorter than the minimum,
4. what makes captions hard to read: each millisecond that a cue is too short for the reading speed, bad places to
   break, ragged lines, small cues.

Width, lines and the longest duration are never broken: such cues are not considered at all, but for a single atom that
is itself too wide or too long. A silence of two seconds always ends a cue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sasayaki.writers.captions.atoms import Atom
from sasayaki.writers.captions.breaks import Boundary, boundary
from sasayaki.writers.captions.grammar import SmallWords
from sasayaki.writers.captions.rules import CaptionRules
from sasayaki.writers.captions.timing import shown_until

SILENCE_MS = 2000
"""A pause that no cue bridges."""

_LATE, _BOND, _SHORT = 1 << 120, 1 << 80, 1 << 40
_SETTLE_EVERY = 8
_MOST_HELD = 200
_CUE = 300
_SENTENCE_INSIDE = 120
_RAGGED = 400


@dataclass(frozen=True, slots=True)
class Span:
    """A cue before it has its times.

    Attributes:
        lines: its atoms, line by line; no line is empty.
        next_ms: start of the next cue's first word; None for the last cue.
    """

    lines: tuple[tuple[Atom, ...], ...]
    next_ms: int | None


@dataclass(frozen=True, slots=True)
class _Layout:
    """Lines of a cue: their cost, and the first atom of each line but the first."""

    cost: int
    breaks: tuple[int, ...]


class Divider:
    """Takes atoms as they come, and gives out spans as soon as no later atom can change them, or 200 atoms wait."""

    def __init__(self, rules: CaptionRules) -> None:
        self._rules = rules
        self._atoms: list[Atom] = []
        self._after: list[Boundary] = []  # behind each atom but the last
        self._ends = [0]  # columns of the first k atoms, spaces included
        self._best = [0]
        self._back: list[int] = [0]
        self._layouts: list[_Layout] = [_Layout(0, ())]
        self._n_decided = 0
        self._open = 0  # the first atom of the longest cue that later atoms may still join

    def add(self, atoms: Iterable[Atom], small: SmallWords) -> list[Span]:
        """Spans that are final once these atoms are known."""
        spans: list[Span] = []
        for atom in atoms:
            if self._atoms:
                before = self._after[-1].bonds if self._after else 0
                self._after.append(boundary(self._atoms[-1], atom, small, before))
            self._atoms.append(atom)
            self._ends.append(self._ends[-1] + atom.is_spaced + atom.width)
            if len(self._atoms) > 1:
                self._decide(len(self._atoms) - 2)
                self._n_decided += 1
            if self._n_decided % _SETTLE_EVERY == 0:
                spans += self._settle()
        return spans

    def end(self) -> list[Span]:
        """The rest."""
        if not self._atoms:
            return []
        self._decide(len(self._atoms) - 1)
        return self._release(len(self._atoms))

    def waits_from(self) -> int | None:
        """Start of the first atom that is in no span yet, in milliseconds; None when there is none."""
        return self._atoms[0].start_ms if self._atoms else None

    def _decide(self, last: int) -> None:
        """Find the best cue that ends with the atom `last`."""
        found: tuple[int, int, _Layout] | None = None
        inside = 0
        self._open = last
        for first in range(last, -1, -1):
            if first < last:
                if not self._may_follow(first, last):
                    break
                inside += _SENTENCE_INSIDE * self._after[first].ends_sentence + self._after[first].pause_ms // 5
            layout = self._layout(first, last, self._rules.max_lines)
            if layout is None:
                break
            self._open = first
            cost = self._best[first] + layout.cost + inside + self._cost(first, last)
            if found is None or cost < found[0]:
                found = (cost, first, layout)
        assert found is not None  # one atom alone is always a cue
        self._best.append(found[0])
        self._back.append(found[1])
        self._layouts.append(found[2])

    def _may_follow(self, first: int, last: int) -> bool:
        """Whether a cue may run from `first` to `last`, as far as its times go."""
        is_short = self._atoms[last].end_ms - self._atoms[first].start_ms <= self._rules.max_ms
        return is_short and self._after[first].pause_ms < SILENCE_MS

    def _cost(self, first: int, last: int) -> int:
        """What the cue costs beside its lines: its times and the break behind it."""
        rules, start_ms = self._rules, self._atoms[first].start_ms
        next_ms = self._atoms[last + 1].start_ms if last + 1 < len(self._atoms) else None
        width = self._width(first, last)
        lasts_ms = shown_until(start_ms, self._atoms[last].end_ms, width, next_ms, rules) - start_ms
        cost = _CUE
        if lasts_ms < rules.flash_ms:
            cost += _LATE
        if lasts_ms < rules.min_ms:
            cost += _SHORT
        cost += max(0, round(width * 1000 / rules.reading_speed) - lasts_ms)
        if next_ms is not None:
            cost += self._after[last].cost + _BOND * self._after[last].is_bond
        return cost

    def _width(self, first: int, last: int) -> int:
        return self._ends[last + 1] - self._ends[first] - self._atoms[first].is_spaced

    def _layout(self, first: int, last: int, n_lines: int) -> _Layout | None:
        """The best lines; None when the atoms do not fit."""
        if first == last or self._width(first, last) <= self._rules.max_width:
            return _Layout(0, ())
        return self._broken(first, last, n_lines)

    def _broken(self, first: int, last: int, n_lines: int) -> _Layout | None:
        """The best lines of which each costs what it leaves empty, the last one included."""
        width = self._rules.max_width
        best: _Layout | None = None
        if first == last or self._width(first, last) <= width:
            best = _Layout(self._raggedness(first, last), ())
        if n_lines == 1:
            return best
        for split in range(first, last):
            if split > first and self._width(first, split) > width:
                break
            rest = self._broken(split + 1, last, n_lines - 1)
            if rest is None:
                continue
            place = self._after[split]
            cost = rest.cost + self._raggedness(first, split) + place.cost // 2 + _BOND * place.is_bond
            if best is None or cost < best.cost:
                best = _Layout(cost, (split + 1, *rest.breaks))
        return best

    def _raggedness(self, first: int, last: int) -> int:
        empty = max(0, self._rules.max_width - self._width(first, last)) / self._rules.max_width
        return round(_RAGGED * empty * empty)

    def _settle(self) -> list[Span]:
        """Spans that no later atom can change: those before the place where all ways that are still open meet."""
        open_ends = set(range(self._open, len(self._atoms)))
        while len(open_ends) > 1:
            latest = max(open_ends)
            open_ends.remove(latest)
            open_ends.add(self._back[latest])
        spans = self._release(open_ends.pop())
        return spans if len(self._atoms) <= _MOST_HELD else [*spans, *self._settle_by_force()]

    def _settle_by_force(self) -> list[Span]:
        """Spans of the way that is best so far, where several ways stay open for very long."""
        end = len(self._atoms) - 1
        while end > _MOST_HELD // 2:
            end = self._back[end]
        spans = self._release(end)
        if spans:
            del self._best[1:], self._back[1:], self._layouts[1:]
            for last in range(len(self._atoms) - 1):
                self._decide(last)
        return spans

    def _release(self, n_atoms: int) -> list[Span]:
        """The spans of the first `n_atoms` atoms, which are then forgotten."""
        spans: list[Span] = []
        end = n_atoms
        while end:
            first = self._back[end]
            borders = [first, *self._layouts[end].breaks, end]
            lines = tuple(tuple(self._atoms[begin:until]) for begin, until in pairwise(borders))
            spans.append(Span(lines, self._atoms[end].start_ms if end < len(self._atoms) else None))
            end = first
        self._forget(n_atoms)
        return spans[::-1]

    def _forget(self, n_atoms: int) -> None:
        if not n_atoms:
            return
        base = self._best[n_atoms]
        self._open -= n_atoms
        del self._atoms[:n_atoms], self._after[:n_atoms], self._ends[:n_atoms]
        del self._best[:n_atoms], self._back[:n_atoms], self._layouts[:n_atoms]
        self._best = [best - base for best in self._best]
        self._back = [max(0, back - n_atoms) for back in self._back]
        self._layouts = [
            _Layout(layout.cost, tuple(split - n_atoms for split in layout.breaks)) for layout in self._layouts
        ]
