"""The option `languages`: detection chooses among some languages only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.errors import OptionError
from sasayaki.option_values import parse_languages
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.results import DecodingResult, Transcription
from tests.fakes import LANGUAGES, SOT, say
from tests.scripted_model import SAMPLE_RATE, language_logits, make_english_model, make_model, mel_of, sentence, tone

LOGITS = {"low": {"fr": 5.0, "de": 3.0, "en": 2.0}, "high": {"ja": 5.0, "en": 3.0, "de": 1.0}}


def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
    """Each tone has its languages, and says the language that it is decoded in."""
    if history[-1] == SOT:
        return language_logits(LOGITS[name])
    start = history[history.index(SOT) + 1]
    return say(sentence(LANGUAGES[start - SOT - 1]))(name, history)


def decode(*names: str, **options: Any) -> list[DecodingResult]:
    results = make_model(script).decode(mel_of(*names), **options)
    assert isinstance(results, list)
    return results


@pytest.mark.parametrize(
    ("languages", "expected"),
    [(None, "fr"), ("de,en", "de"), (["English", "de"], "de"), (("cy", "en"), "en"), ("Japanese", "ja")],
)
def test_the_likeliest_of_the_allowed_languages_is_chosen(languages: Any, expected: str) -> None:
    (result,) = decode("low", languages=languages)
    assert (result.language, result.text) == (expected, expected)
    token, probs = make_model(script).detect_language(mel_of("low")[0], languages=languages)
    assert (token, probs) == (SOT + 1 + LANGUAGES.index(expected), result.language_probs)
    assert sasayaki.detect_language(make_model(script), mel_of("low")[0], languages=languages) == (token, probs)


def test_probabilities_are_those_of_the_allowed_languages_and_sum_to_one() -> None:
    """Each is the probability of the language, given that it is an allowed one."""
    (every,) = decode("low")
    (some,) = decode("low", languages="en,de")
    assert some.language_probs is not None
    assert every.language_probs is not None
    assert list(some.language_probs) == ["en", "de"]
    assert sum(some.language_probs.values()) == pytest.approx(1)
    for one, other in (("en", "de"),):
        ratio = every.language_probs[one] / every.language_probs[other]
        assert some.language_probs[one] / some.language_probs[other] == pytest.approx(ratio)


def test_windows_of_a_batch_choose_for_themselves() -> None:
    results = decode("low", "high", "low", languages="de,en")
    assert [result.language for result in results] == ["de", "en", "de"]
    assert [result.text for result in results] == ["de", "en", "de"]
    tasks = decode("high", languages="de,en", task="lang_id")
    assert [result.language for result in tasks] == ["en"]


def test_a_recording_and_its_windows_are_detected_among_the_allowed_languages() -> None:
    audio = np.concatenate([tone("low", 30), tone("high", 30)])
    model = make_model(script)

    def texts(**options: Any) -> tuple[str, list[str]]:
        transcription = model.transcribe(audio, **options)
        assert isinstance(transcription, Transcription)
        return transcription.language, [segment.text for segment in transcription.segments]

    assert texts() == ("fr", [" fr", " fr"])
    assert texts(languages="de,en") == ("de", [" de", " de"])
    assert texts(languages="de,en", multilingual=True) == ("de", [" de", " en"])
    assert texts(languages="de,en", language="en") == ("en", [" en", " en"])
    assert model.transcribe(audio, languages="de,en").to_dict()["options"]["languages"] == ["de", "en"]


def test_a_recording_without_audio_has_an_allowed_language() -> None:
    nothing = np.zeros(0, np.float32)
    assert make_model(script).transcribe(nothing).language == "en"
    assert make_model(script).transcribe(nothing, languages="ja,de").language == "de"


@pytest.mark.parametrize("make", [DecodingOptions, TranscribeOptions])
def test_the_language_must_be_an_allowed_one(make: Any) -> None:
    assert make(language="German", languages="de,en").languages == ("de", "en")
    with pytest.raises(OptionError, match="language='fr' is not among languages=de,en"):
        make(language="fr", languages=["de", "en"])


@pytest.mark.parametrize(
    ("value", "codes"),
    [
        ("de,en", ("de", "en")),
        (" German , en-US,de", ("de", "en")),
        (["Mandarin"], ("zh",)),
        (iter(["iw", "jv"]), ("he", "jw")),
        (None, None),
    ],
)
def test_names_and_aliases_are_understood_and_repetitions_do_not_count(value: Any, codes: Any) -> None:
    assert parse_languages(value) == codes


@pytest.mark.parametrize("wrong", ["", ",", [], "de;en", ["de", "klingon"], [5], 5, {"de": 1.0}, b"de"])
def test_what_is_no_list_of_languages_is_refused(wrong: Any) -> None:
    with pytest.raises(OptionError, match="language"):
        TranscribeOptions(languages=wrong)


def test_languages_that_the_model_does_not_have_do_not_count_but_one_must_be_left() -> None:
    (result,) = decode("low", languages="yue,ja,en")
    assert result.language == "en"
    model = make_model(script)
    for call in (
        lambda: model.decode(mel_of("low"), languages="yue"),
        lambda: model.transcribe(tone("low", 1), languages="yue"),
        lambda: model.detect_language(mel_of("low"), languages="yue"),
    ):
        with pytest.raises(OptionError, match="the model has none of languages=yue"):
            call()
    assert model.inference.calls == []  # type: ignore[attr-defined]


def test_an_english_only_model_needs_english_to_be_allowed() -> None:
    model = make_english_model()
    assert model.transcribe(np.zeros(SAMPLE_RATE, np.float32), languages="de,en").language == "en"
    for call in (
        lambda: model.transcribe(tone("low", 1), languages="de"),
        lambda: model.decode(mel_of("low"), languages="de"),
    ):
        with pytest.raises(OptionError, match="none of languages=de; it knows English only"):
            call()
