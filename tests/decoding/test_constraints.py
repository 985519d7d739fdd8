"""Token lists, grammars and languages with real weights."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import regex

import sasayaki
from sasayaki.results import DecodingResult
from sasayaki.text.patterns import compile_pattern

pytestmark = pytest.mark.weights
DATA = Path(__file__).parents[1] / "data"
NUMBER = r"(?i)(zero|one|two|three|four|five|six|seven|eight|nine)"


@cache
def model(name: str) -> sasayaki.Whisper:
    try:
        return sasayaki.get_model(name, threads=1)
    except sasayaki.ModelNotFoundError:
        pytest.skip(f"the weights of {name} are not installed")


def mel(file: str) -> np.ndarray:
    return sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(str(DATA / file))))


def decode(file: str, name: str = "tiny.en", **options: object) -> DecodingResult:
    result = model(name).decode(mel(file), **options)
    assert isinstance(result, DecodingResult)
    return result


def test_digits_are_spelled_out_where_they_are_denied() -> None:
    file = "en_fmt_123_stereo-24-bit-44100Hz.flac"
    denied = decode(file, deny_tokens=r"\p{N}")
    assert not regex.search(r"\p{N}", denied.text)
    assert regex.findall(r"\w+", denied.text.lower()) == ["one", "two", "three"]
    plain, unchanged = decode("en_jfk.mp3"), decode("en_jfk.mp3", deny_tokens=r"\p{N}")
    assert unchanged.text == plain.text


def test_text_without_capitals_and_punctuation() -> None:
    expected = "the quick brown fox jumps over the lazy dog"
    assert decode("en_fox.ogg", deny_tokens=r"\p{P}|\p{Lu}").text == expected
    assert decode("en_fox.ogg", allow_tokens=r"[\p{Ll}\s]+").text == expected


@pytest.mark.parametrize("beam_size", [None, 5])
@pytest.mark.parametrize("without_timestamps", [False, True])
def test_what_is_said_is_found_in_a_grammar(beam_size: int | None, without_timestamps: bool) -> None:
    pattern = rf"{NUMBER}(,? {NUMBER[4:]})*\."
    result = decode(
        "en_fmt_123_mono-8-bit-44100Hz.wav",
        grammar=sasayaki.Grammar.regex(pattern),
        beam_size=beam_size,
        without_timestamps=without_timestamps,
    )
    assert regex.findall(r"\w+", result.text.lower()) == ["one", "two", "three"]
    assert all(regex.fullmatch(pattern, each.text) for each in result.hypotheses if each.stop == "eot")


def test_a_recording_is_transcribed_within_a_grammar() -> None:
    transcription = model("tiny.en").transcribe(
        str(DATA / "en_fox.ogg"),
        grammar=r"regex:The (quick|slow) (brown|red) (fox|dog) jumps over the lazy (fox|dog)\.",
    )
    assert transcription.text == " The quick brown fox jumps over the lazy dog."
    assert transcription.segments[0].end > 2


def test_chinese_is_written_in_the_script_that_is_asked_for() -> None:
    file = "zh_aishell_BAC009S0764W0121.wav"
    for script in ("Hans", "Hant"):
        text = decode(file, "base", language="zh", deny_tokens=rf"[\p{{Han}}--\p{{{script}}}]").text
        outside = compile_pattern("deny_tokens", rf"[\p{{Han}}--\p{{{script}}}]")
        assert len(text) > 5
        assert not outside.search(text)


def test_detection_keeps_to_the_languages_allowed() -> None:
    result = decode("de_th_gt01.wav", "base", languages="fr,de,en")
    assert result.language == "de"
    assert decode("de_th_gt01.wav", "base", languages="fr,en").language in ("fr", "en")
