"""The n-gram scorer of the examples: shallow fusion through the option `scorers`."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.decoding.scripts import by_place, decode_one
from tests.fakes import EOT, TIMESTAMP_BEGIN, Script, one_hot, text, ts

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "ngram_scorer.py"


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("ngram_scorer", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_or_right(audio: object, sampled: tuple[int, ...]) -> np.ndarray:
    """Writes "to" and then "r" with 45 % or "w" with 55 %, which it ends with."""
    words = [ts(0.0), *text("to")]
    if len(sampled) < len(words):
        return one_hot(words[len(sampled)])
    logits = np.full_like(one_hot(0), -30.0)
    if len(sampled) == len(words):
        logits[list(text("rw"))] = math.log(0.45), math.log(0.55)
        return logits
    return one_hot(ts(1.0) if sampled[-1] < TIMESTAMP_BEGIN else EOT)


SCRIPT: Script = by_place(3, write_or_right)


@pytest.mark.parametrize("beam_size", [None, 1, 4])
def test_a_text_decides_between_words_that_sound_alike(example: Any, beam_size: int | None) -> None:
    scorer = example.NgramScorer([text("tor")], n_text=EOT)
    plain = decode_one(SCRIPT, beam_size=beam_size)
    helped = decode_one(SCRIPT, beam_size=beam_size, scorers=[scorer])
    assert (plain.text, helped.text) == ("tow", "tor")
    assert helped.hypotheses[0].token_logprobs[3] == pytest.approx(math.log(0.45), abs=1e-3)


def test_what_the_text_does_not_have_keeps_its_score(example: Any) -> None:
    scorer = example.NgramScorer([text("abc"), text("abd")], n_text=EOT, order=3, weight=1.0, unseen=0.01)
    expected = np.zeros((2, 300), np.float32)
    expected[0, list(text("cd"))] = math.log(1 / 3 / 0.01)
    for logprobs in (np.zeros((2, 300), np.float32), torch.zeros(2, 300)):
        scorer.adjust(logprobs, [(ts(0.0), *text("ab")), text("zz")])
        np.testing.assert_allclose(np.asarray(logprobs), expected, rtol=1e-6)


@pytest.mark.weights
def test_the_example_runs(tmp_path: Path) -> None:
    """It prints the text without and with the notes; notes that fit change nothing that is right."""
    notes = tmp_path / "notes.txt"
    notes.write_text("Ask not what your country can do for you.\n", "utf-8")
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(ROOT / "tests/data/en_jfk.mp3"), str(notes)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        check=True,
    )
    plain, helped = done.stdout.splitlines()
    assert "what your country can do for you" in plain
    assert "what your country can do for you" in helped
