"""The Python blocks of README and docs run, those of a page one after the other.

A block that cannot run here (a server, a device) stands behind a line `<!-- not run -->`.
"""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.model import Whisper
from sasayaki.text.tokenizer import Tokenizer
from tests.fakes import ScriptedInference

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = "<!-- not run -->\n"
N_VOCAB = 51865


def blocks(page: Path) -> list[tuple[int, str]]:
    """Line and text of each block of a page."""
    text = page.read_text("utf-8")
    found = [found for found in BLOCK.finditer(text) if not text[: found.start()].endswith(NOT_RUN)]
    return [(text.count("\n", 0, block.start()) + 2, block[1]) for block in found]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if blocks(page)]


class AttentiveInference(ScriptedInference):
    """Each token looks at a place of its own, one behind the other."""

    def cross_attention(self, audio: object, tokens: tuple[int, ...], heads: tuple[tuple[int, int], ...]) -> np.ndarray:
        weights = np.full((len(tokens), 1500), 1e-4, np.float32)
        weights[np.arange(len(tokens)), 10 * np.arange(len(tokens))] = 1
        return np.repeat((weights / weights.sum(axis=1, keepdims=True))[None], len(heads), axis=0)


@cache
def scripted_model(*_: object, **__: object) -> Whisper:
    """Says the same few words whatever it hears, in the vocabulary of real models."""
    tokenizer = Tokenizer.for_vocab(N_VOCAB)
    begin = tokenizer.timestamp_begin
    said = (begin, *tokenizer.encode(" And so my fellow Americans"), begin + 100, tokenizer.eot)

    def script(_: object, history: tuple[int, ...]) -> np.ndarray:
        logits = np.zeros(N_VOCAB, np.float32)
        start = max((place for place, token in enumerate(history) if tokenizer.eot < token < begin), default=-1)
        logits[said[min(len(history) - start - 1, len(said) - 1)]] = 12.0
        return logits

    return Whisper(AttentiveInference(script, n_vocab=N_VOCAB), tokenizer)


@cache
def real_model(name: str, **options: Any) -> Whisper:
    try:
        return load_model(name, local_files_only=True, **options)
    except sasayaki.ModelNotFoundError as error:
        pytest.skip(f"no weights of {name}: {error}")


load_model = sasayaki.load_model


def run(page: Path) -> None:
    """Run the blocks of a page as one program."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    for line, block in blocks(page):
        code = compile("\n" * (line - 1) + block, str(page), "exec")
        exec(code, namespace)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what the pages take for granted: the recordings of the tests, and a talk."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    shutil.copy(ROOT / "tests/data/en_jfk.mp3", tmp_path / "talk.mp3")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sasayaki, "load_model", scripted_model)
    run(page)


@pytest.mark.weights
@pytest.mark.usefixtures("workplace")
@pytest.mark.parametrize("name", ["README.md", "docs/filters.md", "docs/phrases.md"])
def test_blocks_run_with_the_models_that_they_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sasayaki, "load_model", real_model)
    run(ROOT / name)
