"""JSON: everything that is known about a transcription, numbers finite or null."""

from __future__ import annotations

import json

from sasayaki.results import Transcription


def render(transcription: Transcription) -> str:
    """The fields of `Transcription`, `text`, `segments` and `language` as in openai/whisper's files."""
    return json.dumps(transcription.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
