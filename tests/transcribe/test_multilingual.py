"""The language of every window."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.decoding.decode import Decoder
from sasayaki.options import TranscribeOptions
from tests.fakes import EOT, LANGUAGES, SOT, ScriptedInference, byte_tokenizer, one_hot, text, ts
from tests.transcribe.scripted_decoder import recording, run_loop

TOKEN = {code: SOT + 1 + place for place, code in enumerate(LANGUAGES)}
SAYS = [ts(0), *text(" ja"), ts(30), EOT]


def language_logits(code: str, probability: float) -> np.ndarray:
    """Logits under which `code` has that probability among the languages, and a text token is likelier than all."""
    logits = one_hot(text("x")[0])
    share = (1 - probability) / (len(LANGUAGES) - 1)
    for other, token in TOKEN.items():
        logits[token] = np.log(probability if other == code else share)
    return logits


def transcribed(heard: list[tuple[str, float]], **options: object) -> tuple[list[str], list[int]]:
    """Languages of the segments of as many windows, and the language tokens that the decoder was fed."""

    def script(window: int, history: tuple[int, ...]) -> np.ndarray:
        if history == (SOT,):
            return language_logits(*heard[window])
        return one_hot(
            SAYS[len(history) - 1 - max(place for place, token in enumerate(history) if EOT < token < ts(0))]
        )

    inference = ScriptedInference(script, name_audio=lambda mel: int(mel[0, 0]) // 3000)
    segments = run_loop(
        Decoder(inference, byte_tokenizer(), ()),
        recording(3000 * len(heard)),
        TranscribeOptions(condition_on_previous_text=False, beam_size=None, vad="off", **options),
        language=heard[0][0],
    )
    languages = [segment.language for segment in segments]
    fed = [call.histories[0][1] for call in inference.calls if len(call.rows[0].tokens) == 3]
    return languages, fed


def test_an_unlikely_language_does_not_take_over() -> None:
    """B100: windows of low confidence flipped the language and gave invented or translated text."""
    heard = [("de", 0.98), ("en", 0.29), ("de", 0.95), ("en", 0.43), ("de", 0.99)]
    languages, fed = transcribed(heard, multilingual=True, language_detection_threshold=0.5)
    assert languages == ["de"] * 5
    assert fed == [TOKEN["de"]] * 5


def test_a_likely_language_does_and_stays() -> None:
    """B100: the language may change at a window, and the next unlikely one keeps the new one."""
    languages, _ = transcribed([("de", 0.9), ("fr", 0.8), ("en", 0.3), ("ja", 0.97)], multilingual=True)
    assert languages == ["de", "fr", "fr", "ja"]


@pytest.mark.parametrize(("threshold", "expected"), [(0.2, ["de", "en"]), (0.9, ["de", "de"])])
def test_the_threshold_is_an_option(threshold: float, expected: list[str]) -> None:
    heard = [("de", 0.98), ("en", 0.5)]
    assert transcribed(heard, multilingual=True, language_detection_threshold=threshold)[0] == expected


def test_without_the_option_the_language_stays() -> None:
    assert transcribed([("de", 0.98), ("en", 0.99)])[0] == ["de", "de"]
