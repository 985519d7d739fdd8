"""Real models for tests, loaded once; property tests without a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import settings

import sasayaki
from sasayaki.model import Whisper
from sasayaki.transcribe import guard
from sasayaki.vad import detector


@pytest.fixture(autouse=True)
def everything_is_voice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silero hears a voice wherever it listens, for words are tones where no real weights are used.

    The coverage guard finds no gap, as scripted text is short for the time that it takes.
    """
    if not request.node.get_closest_marker("weights"):
        monkeypatch.setattr(guard, "find_gaps", lambda *_, **__: ())
        monkeypatch.setattr(detector, "SileroNetwork", lambda: lambda frames: np.ones(len(frames), np.float32))


settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")


@pytest.fixture(scope="session", autouse=True)
def _graphs_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled graphs are shared by the tests, and kept away from the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SASAYAKI_GRAPHS", str(tmp_path_factory.mktemp("graphs")))
        yield


@pytest.fixture(scope="session")
def real_model() -> Callable[[str, str], Whisper]:
    """Loads a model at float32 by name and backend; the test is skipped where its weights are not installed."""

    @cache
    def load(name: str, backend: str) -> Whisper:
        try:
            return sasayaki.load_model(name, backend=backend, precision="float32", local_files_only=True)
        except sasayaki.ModelNotFoundError as error:
            pytest.skip(f"no weights of {name}: {error}")

    return load
