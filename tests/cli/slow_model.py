"""The command line over a scripted engine that hears tones slowly enough to be killed at work."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

import sasayaki
from tests.scripted_model import make_model, speak

STEP_SECONDS = float(os.environ.get("STEP_SECONDS", "0"))


def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
    time.sleep(STEP_SECONDS)
    return speak()(name, history)


def main() -> int:
    sasayaki.load_model = lambda *_, **__: make_model(script)  # type: ignore[assignment]
    from sasayaki.cli.start import main as sasayaki_main

    return sasayaki_main()


if __name__ == "__main__":
    sys.exit(main())
