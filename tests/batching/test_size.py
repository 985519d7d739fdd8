"""Tests of the batch size that `auto` stands for: by beams and memory, and of no consequence for the text."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sasayaki import model as model_module
from sasayaki.batching.size import suitable_batch_size, window_bytes
from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.options import TranscribeOptions
from tests.scripted_model import make_model, speak, tone

BASE = SimpleNamespace(dims=ModelDimensions(80, 1500, 512, 8, 6, 51865, 448, 512, 8, 6))
LARGE = SimpleNamespace(dims=ModelDimensions(128, 1500, 1280, 20, 32, 51866, 448, 1280, 20, 32))
GIB = 1 << 30


@pytest.mark.parametrize(("n_beam", "expected"), [(1, 8), (2, 8), (3, 6), (5, 4), (10, 2), (50, 2)])
def test_beams_settle_it_where_memory_is_no_matter(n_beam: int, expected: int) -> None:
    assert suitable_batch_size(BASE, n_beam, None) == suitable_batch_size(BASE, n_beam, 100 * GIB) == expected


@pytest.mark.parametrize(
    ("engine", "n_beam", "gib", "expected"), [(BASE, 1, 1, 6), (BASE, 1, 0, 2), (LARGE, 5, 16, 4), (LARGE, 5, 8, 2)]
)
def test_half_of_the_free_memory_is_enough(engine: Any, n_beam: int, gib: int, expected: int) -> None:
    assert suitable_batch_size(engine, n_beam, gib * GIB) == expected


def test_a_window_takes_more_memory_in_a_larger_model_and_with_more_beams() -> None:
    assert 60e6 < window_bytes(BASE, 1) < window_bytes(BASE, 5) < window_bytes(LARGE, 5) < 3e9


@pytest.mark.parametrize("free", [0, 64 * GIB])
def test_the_text_is_that_of_any_batch_size(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(model_module, "free_memory", lambda device: free)
    silence = np.zeros(64000, np.float32)
    names = ("low", "high", "top", "middle", "low")
    audio = np.concatenate([part for name in names for part in (tone(name, 20.0), silence)])
    options = {"language": "en", "vad": "energy", "coverage_guard": False, "beam_size": None}
    model = make_model(speak())
    auto = model.transcribe(audio, batch_size="auto", **options)
    n_together = max(len({row.audio.name for row in call.rows}) for call in model.inference.calls)
    assert n_together == (4 if free else 2)
    fixed = make_model(speak()).transcribe(audio, batch_size=3, **options)
    assert [replace(one, options=None).segments for one in (auto, fixed)] == [fixed.segments] * 2
    assert auto.options.batch_size == "auto"


def test_many_recordings_are_taken_as_auto_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "free_memory", lambda device: None)
    model = make_model(speak())
    sizes = [model.batch_size(TranscribeOptions(batch_size=size, beam_size=5)) for size in ("auto", 7, "7", 1)]
    assert sizes == [4, 7, 7, 1]
    encode, together = model.inference.encode, []
    model.inference.encode = lambda mel, positions: together.append(len(mel)) or encode(mel, positions)
    list(model.transcribe_many([tone("low", 30.0)] * 9, language="en", vad="off", coverage_guard=False))
    assert together == [4, 4, 1]
