"""The Whisper object on single windows and batches: decode, embed_audio, detect_language."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sasayaki
from sasayaki import AudioError, BackendError, DecodingOptions, DecodingResult, OptionError
from sasayaki.decoding.decode import Decoder
from sasayaki.inference.select import create_inference
from sasayaki.model import Whisper
from tests.fakes import LANGUAGES, SOT, say, text
from tests.scripted_model import language_logits, make_english_model, make_model, mel_of, sentence, tone


@pytest.fixture
def model() -> Whisper:
    return make_model()


def test_one_window_gives_one_result(model: Whisper) -> None:
    result = model.decode(mel_of("high")[0])
    assert isinstance(result, DecodingResult)
    assert (result.text, result.language, result.tokens) == ("high", "en", sentence("high"))


def test_a_batch_gives_a_list_of_what_each_is_alone(model: Whisper) -> None:
    mel = mel_of("low", "high", "middle")
    together = model.decode(mel, beam_size=2)
    assert [result.text for result in together] == ["low", "high", "middle"]
    for window, result in zip(mel, together, strict=True):
        alone = model.decode(window, beam_size=2)
        assert (alone.tokens, alone.avg_logprob) == (result.tokens, result.avg_logprob)


def test_a_batch_of_one_is_a_list(model: Whisper) -> None:
    assert [result.text for result in model.decode(mel_of("low"))] == ["low"]


def test_an_empty_batch_is_an_empty_list(model: Whisper) -> None:
    nothing = np.zeros((0, 80, 3000), np.float32)
    assert model.decode(nothing) == []
    assert model.detect_language(nothing) == ([], [])
    assert model.embed_audio(nothing).shape == (0, 1500, 8)


def test_encoder_output_is_taken_in_place_of_a_mel() -> None:
    model = make_model(say(sentence("again")), name_audio=lambda array: float(array.flat[0]))
    features = model.embed_audio(np.zeros((80, 3000), np.float32))
    assert features.shape == (1500, 8)
    assert model.decode(features, language="en").text == "again"
    batch = model.embed_audio(np.zeros((2, 80, 3000), np.float32))
    assert batch.shape == (2, 1500, 8)
    assert [result.text for result in model.decode(batch, language="en")] == ["again", "again"]
    assert model.detect_language(batch)[1][0].keys() == set(LANGUAGES)
    assert len(model.inference.encoded) == 3, "features are not encoded again"


def test_results_are_compared_without_their_features(model: Whisper) -> None:
    assert model.decode(mel_of("low")[0], language="en") == model.decode(mel_of("low")[0], language="en")
    assert model.decode(mel_of("low")[0], language="en") != model.decode(mel_of("high")[0], language="en")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_every_float_is_accepted(model: Whisper, dtype: str) -> None:
    assert model.decode(mel_of("low")[0].astype(dtype)).text == "low"


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((80, 3000), np.int16),
        np.zeros((80, 3000), np.int64),
        np.zeros((80, 3000), bool),
        np.zeros((80, 3000), np.complex64),
        np.zeros((80, 3000), object),
        np.zeros(480000, np.float32),
        np.zeros((), np.float32),
        np.zeros((1, 1, 80, 3000), np.float32),
        np.zeros((128, 3000), np.float32),
        np.zeros((3000, 80), np.float32),
        np.zeros((80, 2999), np.float32),
        np.zeros((1500, 9), np.float32),
        [[0.0] * 3000] * 80,
        "talk.mp3",
        None,
    ],
    ids=lambda wrong: f"{getattr(wrong, 'dtype', type(wrong).__name__)}{getattr(wrong, 'shape', '')}",
)
@pytest.mark.parametrize("call", ["decode", "detect_language", "embed_audio"])
def test_other_dtypes_and_shapes_are_raised(model: Whisper, call: str, wrong: Any) -> None:
    """B105: a wrong dtype came back as an exception object in place of a result."""
    with pytest.raises(AudioError, match=r"80, 3000"):
        getattr(model, call)(wrong)
    assert model.inference.encoded == []


def test_a_mel_of_more_than_30_s_is_refused_and_not_cut(model: Whisper) -> None:
    """B113: only the first 30 s were decoded."""
    with pytest.raises(AudioError, match="transcribe"):
        model.decode(np.zeros((80, 4500), np.float32))


def test_an_error_is_a_value_error_too(model: Whisper) -> None:
    with pytest.raises(ValueError, match="80, 3000"):
        model.decode(np.zeros((80, 100), np.float32))
    with pytest.raises(ValueError, match="beam_size"):
        model.decode(mel_of("low")[0], beam_size=0)


@pytest.mark.parametrize(
    ("name", "hint"), [("beamsize", "beam_size"), ("temperatur", "temperature"), ("zzz", "known options")]
)
def test_an_unknown_option_is_refused_with_a_suggestion(model: Whisper, name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"{name}.*{hint}"):
        model.decode(mel_of("low")[0], **{name: 1})
    with pytest.raises(OptionError, match=f"{name}.*{hint}"):
        model.transcribe(np.zeros(16000, np.float32), **{name: 1})


@pytest.mark.parametrize("wrong", [{"beam_size": 2}, 5, "fast", DecodingOptions, [None], [{}]])
def test_options_of_another_kind_are_refused(model: Whisper, wrong: Any) -> None:
    with pytest.raises(OptionError, match="options must be DecodingOptions, got"):
        model.decode(mel_of("low"), wrong)
    with pytest.raises(OptionError, match="options must be TranscribeOptions, got"):
        model.transcribe(tone("low", 1.0), options=wrong)
    with pytest.raises(OptionError, match="options must be TranscribeOptions"):
        model.transcribe_many([], options=DecodingOptions())


@pytest.mark.parametrize("name", ["trace", "progress", "cancel", "time_limit", "journal"])
def test_arguments_of_another_kind_are_refused(model: Whisper, name: str) -> None:
    wrong = {name: ["x"]}
    with pytest.raises(OptionError, match=f"{name} must be .* got"):
        model.transcribe(tone("low", 1.0), **wrong)
    with pytest.raises(OptionError, match=f"{name} must be .* got"):
        model.stream(tone("low", 1.0), **wrong)
    if name in ("progress", "cancel", "time_limit"):
        with pytest.raises(OptionError, match=f"{name} must be .* got"):
            model.align(tone("low", 1.0), "low", **wrong)
    if name == "trace":
        with pytest.raises(OptionError, match=r"trace must be .* got"):
            model.decode(mel_of("low"), **wrong)
    assert model.inference.n_open == 0


@pytest.mark.parametrize("wrong", [None, 5, b"low", ["low"]])
def test_a_text_to_align_is_text(model: Whisper, wrong: Any) -> None:
    with pytest.raises(OptionError, match="text must be"):
        model.align(tone("low", 1.0), wrong)


@pytest.mark.parametrize(
    "wrong", ["talk.mp3", Path("talk.mp3"), b"RIFF", None, 5, {"a": 1}, io.BytesIO(), np.zeros(9), torch.zeros(9)]
)
def test_a_single_recording_is_not_many(model: Whisper, wrong: Any) -> None:
    with pytest.raises(OptionError, match="sources must be several recordings"):
        model.transcribe_many(wrong)


def test_rows_of_an_array_are_many_recordings(model: Whisper) -> None:
    found = list(model.transcribe_many(np.stack([tone("low", 2.0), tone("high", 2.0)]), language="en", vad="off"))
    assert [outcome.transcription.text for outcome in found] == [" low", " high"]


def test_verbose_is_taken_and_prints_nothing(model: Whisper, capfd: pytest.CaptureFixture[str]) -> None:
    for quiet in (None, False):
        assert model.transcribe(tone("low", 2.0), language="en", vad="off", verbose=quiet).text == " low"
    with pytest.warns(UserWarning, match="verbose=True prints nothing"):
        model.transcribe(tone("low", 2.0), language="en", vad="off", verbose=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy, copy.copy], ids=lambda copied: copied.__name__)
def test_a_model_says_why_it_is_not_sent_to_another_process(model: Whisper, copied: Any) -> None:
    with pytest.raises(BackendError, match="call load_model there"):
        copied(model)


def test_overrides_win_over_options_which_stay_as_they_were(model: Whisper) -> None:
    options = DecodingOptions(language="de", beam_size=2)
    assert model.decode(mel_of("low")[0], options).language == "de"
    assert model.decode(mel_of("low")[0], options, language="fr").language == "fr"
    assert options == DecodingOptions(language="de", beam_size=2)


@pytest.mark.parametrize(
    "wrong",
    [{"language": "xx"}, {"language": "es"}, {"prompt": [10**6]}, {"prefix": [10**6]}, {"suppress_tokens": [10**6]}],
)
def test_options_that_do_not_fit_are_refused_before_any_model_work(model: Whisper, wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        model.decode(mel_of("low"), **wrong)
    assert model.inference.encoded == []


def test_beams_and_samples_together_are_refused(model: Whisper) -> None:
    """B07: the error names both options."""
    with pytest.raises(ValueError, match=r"beam_size.*best_of"):
        model.decode(mel_of("low")[0], beam_size=5, best_of=5, temperature=0)


GIVEN = {
    "task": "translate",
    "language": "de",
    "sample_len": 7,
    "best_of": 3,
    "beam_size": 4,
    "patience": 1.5,
    "length_penalty": 0.5,
    "prefix": (65,),
    "suppress_tokens": (66, 67),
    "suppress_blank": False,
    "without_timestamps": True,
    "max_initial_timestamp": 0.5,
    "fp16": False,
    "seed": 9,
    "temperature": 0.7,
    "prompt": (68,),
}
NEEDS = {"best_of": {"temperature": 0.5}, "patience": {"beam_size": 3}, "n_best": {"beam_size": 3}}


@pytest.mark.parametrize("name", GIVEN)
def test_every_option_reaches_the_decoder(model: Whisper, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """B31: options were accepted and dropped."""
    received: list[DecodingOptions] = []
    decode = Decoder.decode

    def spy(self: Decoder, audios: Any, options: Any) -> Any:
        received.extend(options)
        return decode(self, audios, options)

    monkeypatch.setattr(Decoder, "decode", spy)
    model.decode(mel_of("low")[0], **{name: GIVEN[name]}, **NEEDS.get(name, {}))
    assert getattr(received[0], name) == GIVEN[name]


def test_languages_are_detected_one_by_one() -> None:
    """B99: every audio was English with a probability of one half."""
    spoken = {"low": {"fr": 5.0}, "high": {"ja": 5.0, "de": 4.0}}
    model = make_model(lambda name, history: language_logits(spoken[name]))
    for _ in range(2):
        for name, code in (("low", "fr"), ("high", "ja")):
            token, probs = model.detect_language(mel_of(name)[0])
            assert token == SOT + 1 + LANGUAGES.index(code)
            assert max(probs, key=probs.__getitem__) == code
            assert sum(probs.values()) == pytest.approx(1)
            assert probs.keys() == set(LANGUAGES)
    tokens, probs = model.detect_language(mel_of("low", "high"))
    assert [max(found, key=found.__getitem__) for found in probs] == ["fr", "ja"]
    assert tokens == [SOT + 1 + LANGUAGES.index("fr"), SOT + 1 + LANGUAGES.index("ja")]


def test_detected_languages_go_into_the_decode_with_their_probabilities() -> None:
    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        code = {"low": "fr", "high": "ja"}[name]
        return language_logits({code: 5.0}) if history == (SOT,) else say(text(code))(name, history)

    results = make_model(script).decode(mel_of("low", "high"), without_timestamps=True)
    assert [(result.language, result.text) for result in results] == [("fr", "fr"), ("ja", "ja")]
    assert all(result.language_probs[result.language] > 0.9 for result in results)


def test_a_language_that_is_given_is_not_detected(model: Whisper) -> None:
    assert model.decode(mel_of("low")[0], language="German").language_probs is None
    assert all(call.histories != ((SOT,),) for call in model.inference.calls)


def test_an_english_only_model_decodes_english_alone() -> None:
    """B98: no language token in the prompt and no detection."""
    model = make_english_model()
    for language in (None, "en", "English"):
        assert model.decode(mel_of("low")[0], language=language).language == "en"
    assert {call.rows[0].tokens for call in model.inference.calls if call.rows[0].source is None} == {(SOT,)}
    for wrong in ({"language": "fr"}, {"task": "translate"}):
        with pytest.raises(OptionError, match="English"):
            model.decode(mel_of("low")[0], **wrong)
    with pytest.raises(OptionError, match="English-only"):
        model.detect_language(mel_of("low")[0])


def test_functions_are_the_methods(model: Whisper) -> None:
    mel = mel_of("low")[0]
    assert sasayaki.decode(model, mel, language="en").tokens == model.decode(mel, language="en").tokens
    assert sasayaki.detect_language(model, mel) == model.detect_language(mel)
    audio = np.zeros(16000, np.float32)
    assert sasayaki.transcribe(model, audio, language="en") == model.transcribe(audio, language="en")


@pytest.mark.parametrize("wrong", ["base", None, mel_of("low")])
def test_functions_say_that_a_model_comes_first(wrong: Any) -> None:
    for function in (sasayaki.decode, sasayaki.detect_language, sasayaki.transcribe):
        with pytest.raises(OptionError, match="the first argument must be a model"):
            function(wrong, mel_of("low"))


@pytest.mark.parametrize("wrong", [{"name": None}, {"name": 5}, {"compiled": "yes"}, {"download_root": 5}])
def test_arguments_of_load_model_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"{next(iter(wrong))} must be"):
        sasayaki.load_model(**{"name": "base", **wrong})


@pytest.mark.parametrize(
    ("name", "values"), [("device", (None, 0)), ("threads", ("2", 1.5, 0, True)), ("backend", (None, 5))]
)
def test_arguments_of_an_engine_are_checked(name: str, values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(OptionError, match=f"{name} must be"):
            create_inference(None, **{name: value})


def test_a_decode_that_fails_leaves_no_session_open() -> None:
    """B44: what was set up for a decode stayed behind after an exception."""

    def script(name: Any, history: tuple[int, ...]) -> np.ndarray:
        if name == "low" and len(history) > 6:
            raise RuntimeError("out of memory")
        return say(sentence("fine"))(name, history)

    model = make_model(script)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="out of memory"):
            model.decode(mel_of("high", "low"), language="en")
        assert model.inference.n_open == 0
        assert model.decode(mel_of("high")[0], language="en").text == "fine"
