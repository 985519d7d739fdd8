"""The value of the option `phrases`: texts to favour and their weights, from a mapping, from text or from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

from sasayaki.errors import OptionError

MAX_WEIGHT = 100.0
"""Largest weight, in nats for each token; no log-probability that a model gives outweighs it."""

_ENTRY = re.compile(r"(?P<phrase>.+?)=\s*(?P<weight>[-+]?(?:\d+\.?\d*|\.\d+)(?:[Ee][-+]?\d+)?)\s*(?:,|$)", re.DOTALL)


def parse_phrases(value: str | Mapping[str, float] | None) -> dict[str, float] | None:
    """Phrases, without spaces around them, and their weights; None for None.

    Args:
        value: a mapping; or text such as `Kubernetes=3.0,Dr. Müller=2.0`, where a comma behind no weight belongs to
            the phrase; or `@FILE` for a file with a JSON object.

    Raises:
        OptionError: it is none of these, the file cannot be read, a phrase is empty, or a weight is not a number
            from 0 to `MAX_WEIGHT`.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _read(value[1:]) if value.startswith("@") else _split(value)
    if not isinstance(value, Mapping):
        raise OptionError(f"phrases must be a mapping such as {{'Kubernetes': 3.0}}, or text, got {value!r}")
    return {_phrase(phrase): _weight(phrase, weight) for phrase, weight in value.items()}


def _split(text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    place = 0
    while place < len(text):
        entry = _ENTRY.match(text, place)
        if entry is None:
            raise OptionError(f"phrases must be PHRASE=WEIGHT, separated by commas, got {text[place:]!r}")
        found[entry["phrase"]] = float(entry["weight"])
        place = entry.end()
    return found


def _read(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"phrases cannot be read from {file!r} as a JSON object: {error}") from None


def _phrase(phrase: object) -> str:
    if not isinstance(phrase, str) or not phrase.strip():
        raise OptionError(f"phrases must hold texts that are not empty, got {phrase!r}")
    return phrase.strip()


def _weight(phrase: str, weight: Any) -> float:
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    if not is_number or not 0 <= weight <= MAX_WEIGHT:
        raise OptionError(
            f"phrases must give each phrase a weight from 0 to {MAX_WEIGHT:g} in nats a token, got {weight!r} "
            f"for {phrase!r}"
        )
    return float(weight)
