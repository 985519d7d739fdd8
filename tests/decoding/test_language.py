"""Language detection."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.errors import BackendError, OptionError
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from tests.decoding.scripts import decode_names, decoder_of, mel, scripted
from tests.fakes import (
    EOT,
    LANGUAGES,
    N_VOCAB,
    SOT,
    ScriptedInference,
    byte_tokenizer,
    english_tokenizer,
    one_hot,
    text,
    ts,
)

SPOKEN = {1.0: "fr", 2.0: "ja", 3.0: "de"}


def language_token(code: str) -> int:
    return SOT + 1 + LANGUAGES.index(code)


def script(audio: object, history: tuple[int, ...]) -> np.ndarray:
    """Right after the start: the audio's language, below a text token; then the audio's name as text."""
    if history == (SOT,):
        return one_hot(language_token(SPOKEN[audio]), 5.0) + one_hot(65, 9.0)
    said = [ts(0), *text(SPOKEN[audio]), EOT]
    return one_hot(said[min(len(history) - 3, 3)])


def whisper(**kwargs: object) -> Whisper:
    return Whisper(ScriptedInference(script, **kwargs), byte_tokenizer(), suppress=())


def test_each_audio_has_its_own_language() -> None:
    """B99: all calls answered "en", with a probability of 0.5."""
    model = whisper()
    for name in (1.0, 2.0, 1.0, 3.0, 2.0):
        token, probs = model.detect_language(mel(name))
        assert token == language_token(SPOKEN[name])
        assert max(probs, key=probs.__getitem__) == SPOKEN[name]
        assert sum(probs.values()) == pytest.approx(1.0)
        assert set(probs) == set(LANGUAGES)
        assert probs[SPOKEN[name]] == pytest.approx(np.exp(5) / (np.exp(5) + 4), rel=1e-5)


def test_a_batch_is_detected_as_its_windows_are_alone() -> None:
    """B99."""
    model = whisper()
    tokens, probs = model.detect_language(mel(1.0, 2.0, 2.0, 3.0))
    assert tokens == [language_token(SPOKEN[name]) for name in (1.0, 2.0, 2.0, 3.0)]
    assert [max(p, key=p.__getitem__) for p in probs] == ["fr", "ja", "ja", "de"]
    assert probs[1] == model.detect_language(mel(2.0))[1]


def test_detection_sees_the_start_token_alone_whatever_the_prompt() -> None:
    decoder = decoder_of(script, tokenizer=byte_tokenizer())
    results = decode_names(decoder, [1.0, 2.0], DecodingOptions(prompt="hello", sample_len=2))
    assert scripted(decoder).calls[0].histories == ((SOT,), (SOT,))
    assert [result.language for result in results] == ["fr", "ja"]


def test_a_decode_without_a_language_uses_and_reports_the_detected_one() -> None:
    model = whisper()
    results = model.decode(mel(1.0, 2.0))
    assert [(result.language, result.text) for result in results] == [("fr", "fr"), ("ja", "ja")]
    assert results[0].language_probs == model.detect_language(mel(1.0))[1]
    assert model.decode(mel(1.0), language="German").language == "de"
    assert model.decode(mel(1.0), language="de").language_probs is None


def test_the_task_lang_id_detects_and_samples_nothing() -> None:
    """Whatever language is given: the reference detects in this task always."""
    for language in (None, "de"):
        result = whisper().decode(mel(2.0), task="lang_id", language=language)
        assert result.language == "ja"
        assert result.language_probs is not None
        assert result.tokens == ()


def test_an_english_only_model_has_nothing_to_detect() -> None:
    inference = ScriptedInference(lambda *_: one_hot(EOT), is_multilingual=False)
    model = Whisper(inference, english_tokenizer())
    with pytest.raises(OptionError, match="English-only"):
        model.detect_language(mel(0.0))
    for language in (None, "en", "English"):
        assert model.decode(mel(0.0), language=language).language == "en"
    n_encoded = len(inference.encoded)
    for wrong in ({"language": "de"}, {"task": "translate"}):
        with pytest.raises(OptionError, match="multilingual"):
            model.decode(mel(0.0), **wrong)
    assert len(inference.encoded) == n_encoded


@pytest.mark.parametrize("fault", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers_are_refused(fault: float) -> None:
    inference = ScriptedInference(lambda *_: np.full(N_VOCAB, fault, np.float32))
    with pytest.raises(BackendError, match="logits of the languages"):
        Whisper(inference, byte_tokenizer()).detect_language(mel(0.0))
    assert inference.n_open == 0
