"""Decoding of many windows together, through the decoder and through the entry points of the model."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from sasayaki import functions
from sasayaki.errors import AudioError, OptionError
from sasayaki.model import Whisper
from sasayaki.options import DecodingOptions
from sasayaki.results import DecodingResult
from tests.decoding.scripts import decode_names, decoder_of, mel, outcome, random_options, random_script
from tests.fakes import N_VOCAB, ScriptedInference, byte_tokenizer, say, text, ts


def mixed_options(draw: random.Random, n: int) -> list[DecodingOptions]:
    """Options of `n` windows: greedy, beams of all sizes, samples, with prompts or without."""
    made = []
    for _ in range(n):
        options = random_options(draw, n_text_ctx=40)
        options = replace(options, suppress_tokens="-1", max_initial_timestamp=1.0)
        if options.beam_size is None and draw.random() < 0.6:
            options = replace(options, temperature=0.7, best_of=draw.choice([None, 2, 4]), seed=draw.randrange(3))
        made.append(options)
    return made


@pytest.mark.parametrize("case", range(40))
def test_windows_with_different_options_decode_together_as_they_do_alone(case: int) -> None:
    """B163: text depended on the neighbours in a batch. Exactly equal, in any order, with repetitions."""
    draw = random.Random(case)
    decoder = decoder_of(random_script(case), n_text_ctx=40)
    requests = list(zip([0.0, 1.0, 2.0, 0.0, 3.0], mixed_options(draw, 5), strict=True))
    alone = [outcome(decode_names(decoder, [name], options)[0]) for name, options in requests]
    for _ in range(2):
        order = [draw.randrange(5) for _ in range(draw.randrange(1, 8))]
        together = decode_names(decoder, [requests[i][0] for i in order], [requests[i][1] for i in order])
        assert [outcome(result) for result in together] == [alone[i] for i in order]


@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_batch_of_any_order_equals_single_windows(beam_size: int) -> None:
    """B163."""
    decoder = decoder_of(random_script(21, eot=-1.0))
    options = DecodingOptions(beam_size=beam_size)
    alone = {name: outcome(decode_names(decoder, [name], options)[0]) for name in (2.0, 29.0, 13.0)}
    for names in ([2.0, 29.0, 13.0], [13.0, 2.0, 29.0], [2.0] * 4):
        assert [outcome(result) for result in decode_names(decoder, names, options)] == [alone[n] for n in names]


# Entry points


def whisper(seed: int = 0, **kwargs: Any) -> Whisper:
    script = random_script(seed, n_vocab=N_VOCAB, **kwargs)
    return Whisper(ScriptedInference(script), byte_tokenizer(), suppress=())


class OnlySpaces:
    """A filter of the user's own."""

    def apply(self, logits: np.ndarray, sampled: object) -> None:
        logits[:, 33:256] = -np.inf


SAMPLED = {"temperature": 0.8}
BEAMS = {"beam_size": 3}
CHANGES: dict[str, tuple[dict[str, Any], Any]] = {
    "task": ({}, "translate"),
    "language": ({}, "de"),
    "sample_len": ({}, 2),
    "best_of": (SAMPLED, 4),
    "beam_size": ({}, 4),
    "patience": (BEAMS, 3.0),
    "length_penalty": (BEAMS, 0.0),
    "length_reward": (BEAMS, 9.0),
    "beam_stop": (BEAMS, "bound"),
    "beam_ends": ({**BEAMS, "beam_stop": "estimate", "length_penalty": 0.0}, "all"),
    "beam_lookahead": (BEAMS, 3),
    "beam_groups": (BEAMS, 3),
    "beam_diversity": ({**BEAMS, "beam_groups": 3}, 5.0),
    "languages": ({"language": None}, ["cy", "de"]),
    "allow_tokens": ({}, "[a-f]"),
    "deny_tokens": ({}, "."),
    "grammar": ({}, "regex:(turn|switch) (on|off)"),
    "n_best": (BEAMS, 1),
    "filters": ({}, [OnlySpaces()]),
    "phrases": ({}, {"5t5": 50.0}),
    "prefix": ({"sample_len": 20}, "ab"),
    "suppress_tokens": ({"without_timestamps": True}, list(range(250))),
    "suppress_blank": ({"without_timestamps": True, "eot": 30.0}, False),
    "without_timestamps": ({}, True),
    "max_initial_timestamp": ({}, 0.0),
    "seed": (SAMPLED, 5),
    "temperature": ({}, 2.0),
    "prompt": ({}, "before"),
}
"""Every option: what else must be set for it to matter, and a value other than the default."""


OWN_TESTS = {"fp16", "loop_guard", "scorers", "write_until"}
"""Options with tests elsewhere; `fp16` is accepted and not used, and says so."""


def test_every_option_is_tried() -> None:
    """B31: all options have an effect."""
    missing = {field.name for field in fields(DecodingOptions)} - {*OWN_TESTS, *CHANGES}
    assert not missing, "a new option needs a line in CHANGES"


def facts(result: DecodingResult) -> tuple[object, ...]:
    return result.language, result.temperature, result.no_speech_prob, result.hypotheses


@pytest.mark.parametrize("name", CHANGES)
def test_every_option_reaches_the_decoder_from_every_entry_point(name: str) -> None:
    """B31, B164: options were accepted and dropped on the way, in batches too, so that nothing changed."""
    base, value = CHANGES[name]
    base = {"language": "en", **base}
    model = whisper(eot=base.pop("eot", -1.0))
    plain = facts(model.decode(mel(1.0), **base))
    changed = facts(model.decode(mel(1.0), **{**base, name: value}))
    assert changed != plain
    options = DecodingOptions(**{**base, name: value})
    assert facts(model.decode(mel(1.0), options)) == changed
    assert facts(model.decode(mel(1.0), DecodingOptions(**base), **{name: value})) == changed
    assert facts(functions.decode(model, mel(1.0), options)) == changed
    assert facts(functions.decode(model, mel(1.0), **{**base, name: value})) == changed
    assert facts(model.decode(mel(2.0, 1.0), options)[1]) == changed


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"patience": 2.0}, ["patience", "beam_size"]),
        ({"patience": 0, "beam_size": 5}, ["patience"]),
        ({"patience": -1, "beam_size": 5}, ["patience"]),
        ({"patience": 0.3, "beam_size": 1}, ["patience", "beam_size"]),
        ({"beam_size": 5, "best_of": 5}, ["beam_size", "best_of"]),
        ({"beam_size": 5, "temperature": 0.5}, ["beam_size", "temperature"]),
        ({"best_of": 5}, ["best_of", "temperature"]),
        ({"language": "klingon"}, ["language", "klingon"]),
        ({"language": "uk"}, ["language", "uk"]),
        ({"task": "summarize"}, ["task", "summarize"]),
        ({"suppress_tokens": [10**6]}, ["suppress_tokens"]),
        ({"prompt": [10**6]}, ["prompt"]),
        ({"prefix": [10**6]}, ["prefix"]),
        ({"beam_sise": 5}, ["beam_sise", "beam_size"]),
        ({"hotwords": "x"}, ["hotwords"]),
        ({"no_repeat_ngram_size": 3}, ["no_repeat_ngram_size"]),
        ({"repetition_penalty": 1.2}, ["repetition_penalty"]),
        ({"languages": ["de", "klingon"]}, ["language", "klingon"]),
        ({"languages": ["yue", "Tibetan"]}, ["languages", "yue,bo"]),
        ({"languages": ["de"], "language": "French"}, ["languages", "language", "French"]),
        ({"languages": []}, ["languages"]),
        ({"languages": 5}, ["languages"]),
        ({"allow_tokens": "("}, ["allow_tokens", "position 1"]),
        ({"deny_tokens": r"\p{Klingon}"}, ["deny_tokens", "unknown property"]),
        ({"deny_tokens": 5}, ["deny_tokens"]),
        ({"deny_tokens": r"[\s\S]"}, ["deny_tokens", "no text token is left"]),
        ({"grammar": "yes|no"}, ["grammar", "regex:"]),
        ({"grammar": "regex:(yes"}, ["grammar", "unclosed group"]),
        ({"grammar": "lark:begin: foo"}, ["grammar", "start"]),
        ({"grammar": "lark:@no-such-file"}, ["grammar", "no-such-file"]),
        ({"grammar": "json_schema:{"}, ["JSON schema"]),
        ({"grammar": 5}, ["grammar"]),
        ({"temperature": None}, ["temperature"]),
    ],
)
def test_a_wrong_option_is_refused_before_any_model_work(wrong: dict[str, Any], names: list[str]) -> None:
    """B06 and B07: the error came after loading and encoding, or not at all."""
    model = whisper()
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        model.decode(mel(1.0), **wrong)
    assert isinstance(caught.value, OptionError)
    assert all(name in str(caught.value) for name in names)
    assert scripted_calls(model) == (0, 0)


def scripted_calls(model: Whisper) -> tuple[int, int]:
    """Number of encoded windows and of decoder calls."""
    assert isinstance(model.inference, ScriptedInference)
    return len(model.inference.encoded), len(model.inference.calls)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((80, 4500), np.float32),
        np.zeros((2, 80, 4500), np.float32),
        np.zeros((80, 1100), np.float32),
        np.zeros((128, 3000), np.float32),
        np.zeros((3000, 80), np.float32),
        np.zeros(480000, np.float32),
        np.zeros((1, 1, 80, 3000), np.float32),
        np.zeros((80, 3000), np.int16),
        np.zeros((80, 3000), bool),
        [[0.0] * 3000] * 80,
        "talk.mp3",
        None,
    ],
    ids=lambda wrong: f"{getattr(wrong, 'dtype', type(wrong).__name__)}{getattr(wrong, 'shape', '')}",
)
def test_what_is_no_window_of_thirty_seconds_is_refused(wrong: Any) -> None:
    """B113: of 45 s the first 30 were decoded and the rest dropped without a word."""
    model = whisper()
    for call in (model.decode, model.detect_language, model.embed_audio):
        with pytest.raises(AudioError, match="3000"):
            call(wrong)
    assert scripted_calls(model) == (0, 0)


def test_one_window_gives_one_result_and_a_batch_a_list() -> None:
    model = Whisper(ScriptedInference(say([ts(0), *text("hi"), ts(1)])), byte_tokenizer(), suppress=())
    assert isinstance(model.decode(mel(1.0), language="en"), DecodingResult)
    assert [result.text for result in model.decode(mel(1.0)[None], language="en")] == ["hi"]
    assert len(model.decode(mel(1.0, 2.0, 3.0), language="en")) == 3
    assert model.decode(mel(1.0)[None][:0], language="en") == []


def test_encoder_output_may_be_given_in_place_of_a_mel() -> None:
    model = Whisper(ScriptedInference(say([ts(0), *text("hi"), ts(1)])), byte_tokenizer(), suppress=())
    features = model.embed_audio(mel(1.0, 2.0))
    assert features.shape == (2, 1500, 8)
    n_encoded = scripted_calls(model)[0]
    assert [result.text for result in model.decode(features, language="en")] == ["hi", "hi"]
    assert model.decode(features[0], language="en").text == "hi"
    assert scripted_calls(model)[0] == n_encoded


def test_options_are_never_changed_by_a_decode() -> None:
    given = [65, -1]
    options = DecodingOptions(language="en", suppress_tokens=given, prompt=given[:1])
    before = replace(options)
    model = whisper()
    assert outcome(model.decode(mel(1.0), options)) == outcome(model.decode(mel(1.0), options))
    assert options == before
    assert given == [65, -1]
