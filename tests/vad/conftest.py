"""Voice activity as it is."""

from __future__ import annotations

import pytest


@pytest.fixture
def everything_is_voice() -> None:
    """Nothing is patched here."""
