"""A fake model behind the command line, and recordings that it understands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sasayaki
from tests.cli.fake_model import FakeModel


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    fake = FakeModel()
    monkeypatch.setattr(sasayaki, "load_model", fake.load, raising=False)
    return fake


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a file in a fresh current folder and gives its name."""
    monkeypatch.chdir(tmp_path)

    def make(name: str = "talk.mp3", content: str = "sound") -> str:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
        return name

    return make
