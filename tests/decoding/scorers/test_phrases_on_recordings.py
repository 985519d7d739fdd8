"""Phrases with real weights: a rare name is written right, and a recording without it stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sasayaki.model import Whisper

pytestmark = pytest.mark.weights
DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("beam_size", [None, 5])
def test_a_rare_name_is_written_right(real_model: Callable[[str, str], Whisper], beam_size: int | None) -> None:
    model = real_model("base", "openvino")
    plain, favoured = (
        model.transcribe(
            DATA / "es_mls_13697.opus", language="es", beam_size=beam_size, temperature=0.0, phrases=phrases
        ).text
        for phrases in (None, {"Wentworth": 4.0})
    )
    assert "Wentworth" not in plain
    assert " Wentworth" in favoured


def test_a_recording_without_the_phrases_keeps_its_text(real_model: Callable[[str, str], Whisper]) -> None:
    model = real_model("tiny.en", "openvino")
    plain, favoured = (
        model.transcribe(DATA / "en_jfk.mp3", phrases=phrases).text
        for phrases in (None, {"Kubernetes": 3.0, "Dr. Müller": 3.0, "Nguyen": 3.0, "Wentworth": 3.0})
    )
    assert favoured == plain
