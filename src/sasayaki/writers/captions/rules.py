"""What a caption has to keep to, and the presets; docs/captions.md names the sources of their figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sasayaki.options import WriterOptions
from sasayaki.writers.times import to_milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionRules:
    """Limits of a cue; widths in columns, of which a full-width character takes two.

    Attributes:
        max_width: columns of a line.
        max_lines: lines of a cue.
        reading_speed: columns that are read in a second.
        min_ms: shortest time that a cue is shown.
        max_ms: longest time that a cue is shown.
        gap_ms: shortest time between two cues.
        closed_gap_ms: a gap below this is closed, down to `gap_ms`.
    """

    max_width: int
    max_lines: int = 2
    reading_speed: float
    min_ms: int = 1000
    max_ms: int = 7000
    gap_ms: int = 0
    closed_gap_ms: int = 0

    @property
    def flash_ms(self) -> int:
        """The time that a cue is shown at least, even where words leave it less."""
        return max(1, min(200, self.min_ms))


_TWO_FRAMES_MS = 84
"""At 24 frames a second."""

PRESETS: Mapping[str, CaptionRules] = MappingProxyType(
    {
        "netflix": CaptionRules(max_width=42, reading_speed=17, min_ms=834, gap_ms=_TWO_FRAMES_MS, closed_gap_ms=500),
        "bbc": CaptionRules(max_width=37, reading_speed=15, closed_gap_ms=1000),
        "youtube": CaptionRules(max_width=32, reading_speed=20, closed_gap_ms=300),
    }
)
"""Rules by name, for a language without rules of its own."""

_OF_LANGUAGE: Mapping[tuple[str, str], Mapping[str, float]] = MappingProxyType(
    {
        ("netflix", "en"): {"reading_speed": 20},
        ("netflix", "ja"): {"reading_speed": 8, "max_width": 26},
        ("netflix", "ko"): {"reading_speed": 24, "max_width": 32},
        ("netflix", "zh"): {"reading_speed": 18, "max_width": 32},
        ("netflix", "yue"): {"reading_speed": 18, "max_width": 32},
    }
)
"""Where a preset has other figures for a language."""


def rules_of(options: WriterOptions, language: str) -> CaptionRules:
    """The rules of the preset `options.captions` for a language, with what other options change.

    Args:
        options: with `captions`.
        language: code.
    """
    name = options.captions or ""
    rules = replace(PRESETS[name], **_OF_LANGUAGE.get((name, language), {}))  # type: ignore[arg-type]
    times = {
        "min_ms": options.min_cue_duration,
        "max_ms": options.max_cue_duration,
        "gap_ms": options.min_cue_gap,
    }
    changes: dict[str, float | None] = {
        "max_width": options.max_line_width,
        "max_lines": options.max_line_count,
        "reading_speed": options.reading_speed,
        **{
            field: None if seconds is None else max(field == "max_ms", to_milliseconds(seconds))
            for field, seconds in times.items()
        },
    }
    given = {field: value for field, value in changes.items() if value is not None}
    return _in_harmony(replace(rules, **given), given)  # type: ignore[arg-type]


def _in_harmony(rules: CaptionRules, given: Mapping[str, float]) -> CaptionRules:
    """Where one limit was given and the preset's other one clashes with it, the preset's gives way."""
    if rules.min_ms > rules.max_ms:
        limit = "max_ms" if "min_ms" in given else "min_ms"
        other = rules.min_ms if limit == "max_ms" else rules.max_ms
        rules = replace(rules, max_ms=other) if limit == "max_ms" else replace(rules, min_ms=other)
    return replace(rules, closed_gap_ms=max(rules.closed_gap_ms, rules.gap_ms))
