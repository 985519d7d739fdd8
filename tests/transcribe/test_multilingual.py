"""The language of every window."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sasayaki.decoding.decode import Decoder
from sasayaki.options import TranscribeOptions
from sasayaki.results import Segment
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.language import recording_language
from tests.fakes import EOT, LANGUAGES, SOT, ScriptedInference, byte_tokenizer, one_hot, text, ts
from tests.transcribe.scripted_decoder import recording, run_loop
from tests.transcribe.test_evidence import voiced

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
    inference = engine(heard)
    languages = [segment.language for segment in _run(inference, heard, options)]
    fed = [call.histories[0][1] for call in inference.calls if len(call.rows[0].tokens) == 3]
    return languages, fed


def segments_of(heard: list[tuple[str, float]], **options: object) -> list[Segment]:
    """The segments of as many windows."""
    return _run(engine(heard), heard, options)


def engine(heard: list[tuple[str, float]]) -> ScriptedInference:
    """Says the same in each window, and hears its language."""

    def script(window: int, history: tuple[int, ...]) -> np.ndarray:
        if history == (SOT,):
            return language_logits(*heard[window])
        return one_hot(
            SAYS[len(history) - 1 - max(place for place, token in enumerate(history) if EOT < token < ts(0))]
        )

    return ScriptedInference(script, name_audio=lambda mel: int(mel[0, 0]) // 3000)


def _run(inference: ScriptedInference, heard: list[tuple[str, float]], options: dict[str, object]) -> list[Segment]:
    settled = TranscribeOptions(condition_on_previous_text=False, beam_size=None, vad="off", **options)
    decoder = Decoder(inference, byte_tokenizer(), ())
    return run_loop(decoder, recording(3000 * len(heard)), settled, language=heard[0][0])


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


def detected(
    *windows: tuple[str, float], seconds: float = 120.0, **options: object
) -> tuple[str, dict[str, float], int]:
    """The language of a recording whose windows sound like these, its probabilities, and how many were listened to."""

    def script(window: int, history: tuple[int, ...]) -> np.ndarray:
        return language_logits(*windows[min(window, len(windows) - 1)])

    inference = ScriptedInference(script, name_audio=lambda mel: int(mel[0, 0]) // 3000)
    audio = recording(round(seconds * 100))
    settled = TranscribeOptions(**({"vad": "off"} | options))  # type: ignore[arg-type]
    driver = Driver(Decoder(inference, byte_tokenizer(), ()), audio)
    found = driver.find(recording_language(settled, audio.content_frames))
    assert found.token == TOKEN[found.code]
    return found.code, found.probs, len(inference.calls)


def test_a_likely_language_needs_one_window() -> None:
    assert detected(("de", 0.9), ("fr", 0.99))[::2] == ("de", 1)


def test_an_unlikely_language_is_compared_with_further_windows() -> None:
    """An opening that is hard to understand gave the whole recording a wrong language."""
    assert detected(("cy", 0.4), ("de", 0.8), ("cy", 0.4))[::2] == ("de", 2)


def test_the_highest_mean_decides_when_no_window_is_sure() -> None:
    code, probs, n_windows = detected(("cy", 0.42), ("de", 0.45), ("de", 0.45), ("cy", 0.3))
    assert (code, n_windows) == ("de", 4)
    assert sum(probs.values()) == pytest.approx(1)
    assert probs["de"] == pytest.approx((0.145 + 0.45 + 0.45 + 0.175) / 4)


@pytest.mark.parametrize(
    ("options", "n_windows"),
    [
        ({"language_detection_windows": 2}, 2),
        ({"compat": True}, 1),
        ({"language_detection_threshold": 0.3}, 1),
        ({"seconds": 65.0}, 3),
        ({"seconds": 0.0}, 1),
    ],
)
def test_no_more_windows_are_listened_to_than_asked_for(options: dict[str, object], n_windows: int) -> None:
    assert detected(("cy", 0.4), **options)[2] == n_windows  # type: ignore[arg-type]


def test_silence_has_no_say_in_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """B101: near-silent audio was detected as a rare language."""
    voiced(monkeypatch, (70, 80))
    assert detected(("cy", 0.9), ("cy", 0.9), ("de", 0.9), vad="silero")[::2] == ("de", 1)


def test_segments_have_the_probability_of_their_language() -> None:
    heard = [("de", 0.98), ("en", 0.29), ("fr", 0.95)]
    segments = segments_of(heard, multilingual=True)
    assert [segment.language for segment in segments] == ["de", "de", "fr"]
    assert [segment.language_probability for segment in segments] == pytest.approx([0.98, 0.1775, 0.95], abs=1e-3)
    assert all(math.isnan(segment.language_probability) for segment in segments_of(heard))
