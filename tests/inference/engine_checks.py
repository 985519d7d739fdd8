"""Checks of any inference engine against the NumPy twin: a row's logits must follow from that row alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from sasayaki.inference.base import AudioFeatures, DecoderSession, Row
from tests.reference.numpy_whisper import NumpyWhisper


@dataclass(frozen=True)
class PlannedRow:
    """One row of a planned call, with its audio by number; a row that continues keeps its audio."""

    tokens: tuple[int, ...]
    source: int | None
    audio: int


Plan = list[list[PlannedRow]]


@st.composite
def plans(draw: st.DrawFn, *, n_audio: int, n_vocab: int, max_calls: int = 5) -> Plan:
    """Calls in which rows are permuted, duplicated, leave and join, with one to four new tokens each."""
    plan: Plan = []
    previous: list[PlannedRow] = []
    tokens = st.lists(st.integers(0, n_vocab - 1), min_size=1, max_size=4).map(tuple)
    for _ in range(draw(st.integers(1, max_calls))):
        sources = st.none() | st.integers(0, len(previous) - 1) if previous else st.none()
        call = []
        for _ in range(draw(st.integers(1, 5))):
            source = draw(sources)
            audio = draw(st.integers(0, n_audio - 1)) if source is None else previous[source].audio
            call.append(PlannedRow(draw(tokens), source, audio))
        plan.append(call)
        previous = call
    return plan


@dataclass
class TwinChecker:
    """Feeds a session and compares every row's logits with the twin's, which sees the row's whole text."""

    session: DecoderSession
    twin: NumpyWhisper
    audios: Sequence[AudioFeatures]
    tolerance: float = 1e-4
    texts: list[tuple[int, ...]] = field(default_factory=list)

    def forward(self, call: Sequence[PlannedRow]) -> None:
        rows = [Row(self.audios[row.audio], row.tokens, row.source, tuple(range(len(row.tokens)))) for row in call]
        logits = np.asarray(self.session.forward(rows))
        self.texts = [(() if row.source is None else self.texts[row.source]) + row.tokens for row in call]
        for index, row in enumerate(call):
            features = np.asarray(self.audios[row.audio].array)
            expected = self.twin.logits(self.texts[index], features)[-len(row.tokens) :]
            assert_close(logits[index, : len(row.tokens)], expected, self.tolerance)


def assert_close(logits: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    """Equal within `tolerance` of the largest logit."""
    assert np.isfinite(logits).all()
    largest = float(np.abs(expected).max())
    np.testing.assert_allclose(logits, expected, rtol=0, atol=tolerance * largest)
