"""Captions that keep to rules: cues and lines found by dynamic programming over words; see docs/captions.md."""

from sasayaki.writers.captions.rules import PRESETS, CaptionRules
from sasayaki.writers.captions.source import CaptionCues

__all__ = ["PRESETS", "CaptionCues", "CaptionRules"]
