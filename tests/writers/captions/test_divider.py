"""The division into cues is the best there is, and is given out as soon as it is settled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, zip_longest

from hypothesis import given
from hypothesis import strategies as st

from sasayaki.writers.captions.atoms import Atom
from sasayaki.writers.captions.breaks import boundary
from sasayaki.writers.captions.divider import SILENCE_MS, Divider, Span
from sasayaki.writers.captions.grammar import small_words
from sasayaki.writers.captions.rules import CaptionRules
from sasayaki.writers.captions.timing import shown_until
from sasayaki.writers.width import columns
from sasayaki.writers.words import TimedWord

ENGLISH = small_words("en")


@st.composite
def atoms(draw: st.DrawFn, n_most: int) -> list[Atom]:
    made, time_ms = [], 0
    for _ in range(draw(st.integers(1, n_most))):
        text = draw(st.sampled_from(["a", "the", "John", "Smith", "7", "million", "end.", "so,", "considerable"]))
        time_ms += draw(st.sampled_from([0, 0, 200, 700, 2500]))
        word = TimedWord(text, time_ms, time_ms + draw(st.sampled_from([0, 150, 400, 3000])))
        time_ms = word.end_ms
        made.append(Atom((word,), True, text, columns(text)))
    return made


RULES = st.builds(
    CaptionRules,
    max_width=st.integers(4, 16),
    max_lines=st.integers(1, 3),
    reading_speed=st.sampled_from([8.0, 20.0]),
    min_ms=st.sampled_from([0, 500, 1000]),
    max_ms=st.sampled_from([1500, 4000]),
    gap_ms=st.sampled_from([0, 84]),
    closed_gap_ms=st.just(300),
)


def divide(words: Sequence[Atom], rules: CaptionRules) -> list[Span]:
    divider = Divider(rules)
    return [*divider.add(words, ENGLISH), *divider.end()]


def partitions(items: Sequence[Atom], n_most: int) -> Iterator[list[Sequence[Atom]]]:
    """All ways to cut a sequence into at most `n_most` parts."""
    if n_most:
        yield [items]
        for cut in range(1, len(items)):
            for rest in partitions(items[cut:], n_most - 1):
                yield [items[:cut], *rest]


def width(line: Sequence[Atom]) -> int:
    return sum(atom.width + 1 for atom in line) - 1


def bonds(words: Sequence[Atom]) -> set[int]:
    """Indices of atoms that are bound to the one before them."""
    bound, in_a_row = set(), 0
    for index, (left, right) in enumerate(pairwise(words), start=1):
        place = boundary(left, right, ENGLISH, in_a_row)
        in_a_row = place.bonds
        if place.is_bond:
            bound.add(index)
    return bound


def faults(cues: Sequence[Sequence[Sequence[Atom]]], words: Sequence[Atom], rules: CaptionRules) -> tuple[int, ...]:
    """How many cues are late, breaks cut a bond, and cues are too short."""
    starts = {id(line[0]) for cue in cues for line in cue} - {id(words[0])}
    broken = sum(id(words[index]) in starts for index in bonds(words))
    late = short = 0
    for cue, following in zip_longest(cues, cues[1:]):
        first, last = cue[0][0], cue[-1][-1]
        columns_shown = sum(width(line) + 1 for line in cue) - 1
        next_ms = following[0][0].start_ms if following else None
        lasts_ms = shown_until(first.start_ms, last.end_ms, columns_shown, next_ms, rules) - first.start_ms
        late += lasts_ms < rules.flash_ms
        short += lasts_ms < rules.min_ms
    return late, broken, short


def allowed(cue: Sequence[Atom], rules: CaptionRules) -> Iterator[list[Sequence[Atom]]]:
    """All lines of a cue that keep to the rules which never yield."""
    silences = any(right.start_ms - left.end_ms >= SILENCE_MS for left, right in pairwise(cue))
    if len(cue) > 1 and (silences or cue[-1].end_ms - cue[0].start_ms > rules.max_ms):
        return
    for lines in partitions(cue, rules.max_lines):
        if all(len(line) == 1 or width(line) <= rules.max_width for line in lines):
            yield lines


def layouts(words: Sequence[Atom], rules: CaptionRules) -> Iterator[list[list[Sequence[Atom]]]]:
    """All captions that keep to the rules which never yield."""
    if not words:
        yield []
    for end in range(1, len(words) + 1):
        for lines in allowed(words[:end], rules):
            for rest in layouts(words[end:], rules):
                yield [lines, *rest]


@given(atoms(6), RULES)
def test_no_division_has_fewer_faults(words: list[Atom], rules: CaptionRules) -> None:
    found = faults([span.lines for span in divide(words, rules)], words, rules)
    assert found == min(faults(cues, words, rules) for cues in layouts(words, rules))


def test_spans_of_ordinary_speech_are_settled_after_a_few_cues() -> None:
    divider, given = Divider(CaptionRules(max_width=42, reading_speed=20)), 0
    text = (
        "It was a bright cold day in spring, and the clocks were striking. Nobody looked up from their work, because "
        "the long winter had made them all very tired. She opened the door of the old house, walked up the stairs, and "
        "stood for a moment at the window that looked over the harbour."
    )
    words = [*text.split()] * 4
    for place, word in enumerate(words):
        atom = Atom((TimedWord(word, place * 300, place * 300 + 290),), True, word, columns(word))
        given += sum(len(line) for span in divider.add([atom], ENGLISH) for line in span.lines)
        assert place - given < 100


@given(atoms(30), RULES)
def test_atoms_one_by_one_give_the_same_spans_as_all_at_once(words: list[Atom], rules: CaptionRules) -> None:
    divider = Divider(rules)
    spans = [span for atom in words for span in divider.add([atom], ENGLISH)]
    assert [*spans, *divider.end()] == divide(words, rules)


def test_a_span_is_given_out_before_the_speech_ends() -> None:
    """Speech without any silence, whose divisions never meet: what is held back stays small."""
    rules = CaptionRules(max_width=42, reading_speed=20)
    text = ["word", "and", "so", "it", "goes", "on,", "and", "it", "never", "ends.", "Well,"]
    divider, n_given, n_held = Divider(rules), 0, []
    for place in range(600):
        word = TimedWord(text[place % len(text)], place * 300, place * 300 + 300)
        spans = divider.add([Atom((word,), True, word.text, columns(word.text))], ENGLISH)
        n_given += sum(len(line) for span in spans for line in span.lines)
        n_held.append(place + 1 - n_given)
    assert 100 < max(n_held) <= 208
