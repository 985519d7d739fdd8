"""Options: defaults, which values are refused, and that what is kept is the user's own no longer."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sasayaki.errors import OptionError
from sasayaki.grammar import Grammar
from sasayaki.option_values import parse_clip_timestamps, parse_suppress_tokens
from sasayaki.options import DecodingOptions, TranscribeOptions, WindowOptions, override
from sasayaki.peer_options import ADVICE
from sasayaki.results import Transcription

NAN, INF = math.nan, math.inf


def test_names_of_other_engines_are_answered_with_what_to_do() -> None:
    known = {each.name for options in (TranscribeOptions, DecodingOptions) for each in fields(options)}
    assert not known & ADVICE.keys()
    for name, advice in ADVICE.items():
        with pytest.raises(OptionError, match=f"unknown option {name}; {re.escape(advice)}"):
            override(TranscribeOptions(), {name: 1})
    with pytest.raises(OptionError, match="batch_size decodes"):
        override(TranscribeOptions(), {"chunk_length": 30})


def test_defaults_are_those_of_openai_whisper() -> None:
    expected = {
        "task": "transcribe",
        "language": None,
        "temperature": 0.0,
        "sample_len": None,
        "best_of": None,
        "beam_size": None,
        "patience": None,
        "length_penalty": None,
        "prompt": None,
        "prefix": None,
        "suppress_tokens": "-1",
        "suppress_blank": True,
        "without_timestamps": False,
        "max_initial_timestamp": 1.0,
        "fp16": True,
    }
    options = DecodingOptions()
    assert {name: getattr(options, name) for name in expected} == expected
    assert options.seed == 0


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    *(({"task": value}, ["task", "transcribe"]) for value in ("Transcribe", "", None, "summarize", 3)),
    *(({"language": value}, ["language"]) for value in ("", "xx", "klingon", 5, b"en", ["en"])),
    *(({"sample_len": value}, ["sample_len"]) for value in (0, -1, 1.5, NAN, "3", True)),
    *(({"beam_size": value}, ["beam_size"]) for value in (0, -5, 2.0, NAN, INF, "5", False)),
    *(({"best_of": value, "temperature": 1.0}, ["best_of"]) for value in (0, -1, 2.5, NAN, "2")),
    *(({"seed": value}, ["seed"]) for value in (-1, 0.5, NAN, "1")),
    *(
        ({"patience": value, "beam_size": 5}, ["patience"])
        for value in (0, 0.0, -1.0, NAN, INF, "1", True, 1e308, 10**400)
    ),
    *(({"length_penalty": value}, ["length_penalty"]) for value in (-0.1, 1.1, NAN, -INF, "0.5")),
    *(({"max_initial_timestamp": value}, ["max_initial_timestamp"]) for value in (-0.02, NAN, INF, "1")),
    *(({"write_until": value}, ["write_until"]) for value in (-0.02, NAN, "1")),
    *(({"temperature": value}, ["temperature"]) for value in (-0.1, NAN, INF, None, "0", True, (0.0, 0.2), 10**400)),
    *(
        ({"prompt": value}, ["prompt"])
        for value in (3, [-1], [1.5], [NAN], [INF], [None], ["a"], [[1]], b"text", {1: 2})
    ),
    *(({"prefix": value}, ["prefix"]) for value in (3, [-1], [1.5], [NAN], b"text")),
    *(
        ({"suppress_tokens": value}, ["suppress_tokens"])
        for value in ("a", "1,b", "1.5", "-2", [-2], [0.5], [NAN], 5, [None])
    ),
    *(
        ({name: value}, [name])
        for name in ("suppress_blank", "without_timestamps", "fp16")
        for value in ("no", None, NAN, 2)
    ),
    ({"patience": 2.0}, ["patience", "beam_size"]),
    ({"patience": 0.3, "beam_size": 1}, ["patience", "beam_size"]),
    ({"patience": 0.5, "beam_size": 1}, ["patience", "beam_size"]),
    ({"beam_size": 5, "best_of": 5}, ["beam_size", "best_of"]),
    ({"beam_size": 5, "best_of": 5, "temperature": 0.5}, ["beam_size", "best_of"]),
    ({"best_of": 5}, ["best_of", "temperature"]),
    ({"best_of": 1, "temperature": 0}, ["best_of", "temperature"]),
    ({"beam_size": 5, "temperature": 0.2}, ["beam_size", "temperature"]),
]


@pytest.mark.parametrize(("wrong", "names"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_cannot_be_used_is_refused_by_name(wrong: dict[str, Any], names: list[str]) -> None:
    """B06 and B07 are among them."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is checked below
        DecodingOptions(**wrong)
    assert isinstance(caught.value, OptionError)
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize(
    "fine",
    [
        {"beam_size": 5, "patience": 0.1001},
        {"beam_size": 1, "patience": 0.51},
        {"beam_size": np.int64(3), "patience": np.float32(1.0)},
        {"temperature": 1},
        {"temperature": np.float32(0.4), "best_of": np.int32(2)},
        {"temperature": Fraction(1, 3)},
        {"max_initial_timestamp": 0},
        {"max_initial_timestamp": 1e308},
        {"length_penalty": 0},
        {"length_penalty": 1},
        {"language": "German"},
        {"language": "EN"},
        {"task": "lang_id"},
        {"seed": 2**100},
        {"seed": None},
        {"suppress_blank": np.True_, "fp16": 0},
    ],
    ids=str,
)
def test_what_can_be_used_is_accepted(fine: dict[str, Any]) -> None:
    DecodingOptions(**fine)


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (None, ()),
        ("", ()),
        ("  ", ()),
        ([], ()),
        ("-1", (-1,)),
        (" -1 ", (-1,)),
        ("50, 51,  52", (50, 51, 52)),
        ("-1,50", (-1, 50)),
        ("7,", (7,)),
        ([5, -1], (5, -1)),
        ((5,), (5,)),
        ({5}, (5,)),
        (range(3), (0, 1, 2)),
        (np.array([4, 2]), (4, 2)),
        (iter([4]), (4,)),
        ([np.int64(3), 2.0], (3, 2)),
    ],
    ids=str,
)
def test_suppress_tokens_take_many_forms(given: Any, ids: tuple[int, ...]) -> None:
    """B04: a string was parsed, and then the string was checked instead of the list."""
    assert parse_suppress_tokens(given) == ids


def test_a_wrong_entry_of_suppress_tokens_is_shown() -> None:
    """B04."""
    with pytest.raises(ValueError, match=r"suppress_tokens.*'a'"):
        parse_suppress_tokens("50,a")


def test_options_keep_their_own_copy() -> None:
    """Neither a list that the caller changes afterwards nor an iterator that is used up changes what was asked for."""
    ids = [1, 2]
    options = DecodingOptions(prompt=ids, prefix=iter(ids), suppress_tokens=(token for token in ids))
    ids.append(3)
    assert (options.prompt, options.prefix, options.suppress_tokens) == ((1, 2), (1, 2), (1, 2))
    assert hash(options) == hash(dataclasses.replace(options))
    temperatures = [0.0, 0.5]
    whole = TranscribeOptions(temperature=temperatures, initial_prompt=ids, clip_timestamps=[0, 5])
    temperatures.clear()
    assert (whole.temperatures, whole.initial_prompt, whole.clip_timestamps) == ((0.0, 0.5), (1, 2, 3), (0.0, 5.0))
    assert TranscribeOptions(temperature=iter([0.2])).temperatures == (0.2,)
    assert TranscribeOptions(temperature=np.array([0.0, 0.2])).temperatures == (0.0, 0.2)


def test_text_and_none_are_kept_as_they_are() -> None:
    options = DecodingOptions(prompt="Hello", prefix="", suppress_tokens=None)
    assert (options.prompt, options.prefix, options.suppress_tokens) == ("Hello", "", None)
    assert DecodingOptions(suppress_tokens="1, 2").suppress_tokens == "1, 2"


def test_options_are_frozen_and_take_keywords_only() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DecodingOptions().beam_size = 5
    with pytest.raises(TypeError):
        DecodingOptions("translate")


@pytest.mark.parametrize(
    ("name", "hint"), [("beam_sise", "beam_size"), ("temprature", "temperature"), ("zzz", "known options are")]
)
def test_an_unknown_option_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(OptionError, match=f"{name}.*{hint}"):
        override(DecodingOptions(), {name: 1})


def test_overrides_make_a_checked_copy() -> None:
    options = DecodingOptions(beam_size=5)
    assert override(options, {"patience": 2.0}) == DecodingOptions(beam_size=5, patience=2.0)
    assert options.patience is None
    with pytest.raises(OptionError, match="best_of"):
        override(options, {"best_of": 2})


def test_beams_belong_to_temperature_zero_and_samples_to_the_others() -> None:
    """B07: both may be given for a whole recording; each attempt gets its own."""
    options = TranscribeOptions(beam_size=5, best_of=5, patience=2.0, temperature=(0, 0.4), prefix="a", seed=3)
    cold, warm = (options.for_window(t, language="de", prompt=[1]) for t in options.temperatures)
    assert (cold.beam_size, cold.best_of, cold.patience, cold.temperature) == (5, None, 2.0, 0)
    assert (warm.beam_size, warm.best_of, warm.patience, warm.temperature) == (None, 5, None, 0.4)
    assert isinstance(cold.temperature, float), "a whole number is no other value in a file"
    assert cold.prompt == warm.prompt == (1,)
    assert cold.language == "de"


def test_every_option_of_a_window_reaches_it_from_those_of_a_recording() -> None:
    """B31."""
    given = {
        "task": "translate",
        "languages": ("en", "de"),
        "allow_tokens": "[a-z]+",
        "deny_tokens": "x",
        "grammar": Grammar.regex("yes|no"),
        "sample_len": 9,
        "beam_size": 2,
        "patience": 1.5,
        "length_penalty": 0.5,
        "beam_stop": "bound",
        "beam_ends": "all",
        "beam_lookahead": 2,
        "beam_groups": 2,
        "beam_diversity": 0.7,
        "loop_guard": False,
        "n_best": 2,
        "phrases": {"Kubernetes": 3.0},
        "prefix": "p",
        "suppress_tokens": (1,),
        "suppress_blank": False,
        "without_timestamps": True,
        "max_initial_timestamp": 0.0,
        "fp16": False,
        "seed": 4,
    }
    alone = {"language", "best_of", "length_reward", "scorers", "filters"}
    missing = {field.name for field in dataclasses.fields(WindowOptions)} - {*alone, *given}
    assert not missing, "a new option needs a value here"
    window = TranscribeOptions(**given, best_of=3).for_window(0.0, language="en", prompt=())
    assert {name: getattr(window, name) for name in given} == given
    rewarded = TranscribeOptions(length_reward=0.5).for_window(0.0, language="en", prompt=())
    assert rewarded.length_reward == 0.5


class Steers:
    """A scorer and a filter."""

    def adjust(self, logprobs: object, sampled: object) -> None: ...

    def apply(self, logits: object, sampled: object) -> None: ...


@pytest.mark.parametrize("name", ["scorers", "filters"])
def test_scorers_and_filters_reach_every_window_and_stay_out_of_json(name: str) -> None:
    """A list is copied, so that it cannot change under a running transcription."""
    given = [Steers()]
    options = TranscribeOptions(**{name: given})
    assert getattr(options, name) == tuple(given)
    for temperature in (0.0, 0.4):
        assert getattr(options.for_window(temperature, language="en", prompt=()), name) == tuple(given)
    plain = Transcription(text="", segments=(), language="en", options=options).to_dict()
    assert name not in plain["options"]


def test_phrases_are_copied() -> None:
    given = {" Kubernetes ": 3}
    options = TranscribeOptions(phrases=given)
    given["other"] = 1
    assert options.phrases == {"Kubernetes": 3.0}


@pytest.mark.parametrize("wrong", [Steers, [Steers], [object()], "adjust", None, [None], {"adjust": 1}])
def test_what_is_no_scorer_is_refused(wrong: object) -> None:
    with pytest.raises(OptionError, match="adjust"):
        TranscribeOptions(scorers=wrong)


def test_compat_switches_every_improvement_off() -> None:
    """The windows of a compatible transcription are decoded with openai/whisper's own options."""
    improved = TranscribeOptions(
        compat=True, loop_guard=True, length_reward=0.2, beam_stop="bound", beam_ends="all", beam_lookahead=3,
        beam_groups=5, beam_diversity=0.1, patience=2.0,
    )  # fmt: skip
    plain = TranscribeOptions(compat=True, loop_guard=False, patience=2.0)
    for temperature in (0.0, 0.4):
        windows = [each.for_window(temperature, language="en", prompt=()) for each in (improved, plain)]
        assert windows[0] == windows[1]
        assert not windows[0].loop_guard
        assert windows[0].changes_beams == ()


def test_changes_of_beam_search_belong_to_temperature_zero() -> None:
    """The other steps of the ladder have no beams, and do not fail for them."""
    options = TranscribeOptions(beam_stop="bound", beam_ends="all", beam_lookahead=3, beam_groups=5)
    cold, warm = (options.for_window(t, language="en", prompt=()) for t in (0.0, 0.4))
    assert cold.changes_beams == ("beam_stop", "beam_ends", "beam_lookahead", "beam_groups")
    assert warm.changes_beams == ()


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ({"beam_stop": "soon"}, ["beam_stop", "soon"]),
        ({"beam_ends": None}, ["beam_ends"]),
        ({"beam_lookahead": -1}, ["beam_lookahead"]),
        ({"beam_lookahead": None}, ["beam_lookahead"]),
        ({"beam_lookahead": 1.5}, ["beam_lookahead"]),
        ({"beam_groups": 0}, ["beam_groups"]),
        ({"beam_groups": 2}, ["beam_groups", "beam_size"]),
        ({"beam_diversity": NAN}, ["beam_diversity"]),
        ({"beam_diversity": -0.1}, ["beam_diversity"]),
        ({"beam_diversity": None}, ["beam_diversity"]),
        ({"length_reward": INF}, ["length_reward"]),
        ({"length_reward": 0.1, "length_penalty": 0.5}, ["length_reward", "length_penalty"]),
        ({"beam_ends": "all"}, ["beam_ends", "beam_stop"]),
        ({"beam_stop": "bound", "beam_size": None}, ["beam_stop", "beam_size"]),
        ({"beam_groups": 2, "beam_size": None}, ["beam_groups", "beam_size"]),
        ({"loop_guard": "maybe"}, ["loop_guard"]),
        ({"compat": None}, ["compat"]),
    ],
)
def test_wrong_changes_of_the_search_are_refused(wrong: dict[str, object], names: list[str]) -> None:
    """B06: each error names the option, and both where two clash."""
    with pytest.raises(OptionError) as caught:
        TranscribeOptions(**wrong)
    for name in names:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": ()},
        {"temperature": "0.5"},
        {"temperature": None},
        {"temperature": (0.0, None)},
        {"temperature": (0.0, NAN)},
        {"temperature": (0.0, -1)},
        {"compression_ratio_threshold": NAN},
        {"logprob_threshold": "x"},
        {"no_speech_threshold": INF},
        {"initial_prompt": 4},
        {"clip_timestamps": 5.0},
        {"clip_timestamps": None},
        {"clip_timestamps": "a"},
        {"clip_timestamps": [0, NAN]},
        {"clip_timestamps": "5,3"},
        {"clip_timestamps": "-1"},
        {"language_detection_windows": 0},
        {"language_detection_windows": None},
        {"short_context": "yes"},
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"batch_size": "many"},
        {"batch_size": 1025},
        {"coverage_guard": None},
        {"vad": "on"},
        {"vad": None},
        {"word_timestamps": "yes"},
        {"prepend_punctuations": None},
        {"append_punctuations": 3},
        {"hallucination_silence_threshold": -1},
        {"hallucination_silence_threshold": NAN},
        {"vad_threshold": 1.1},
        {"vad_threshold": None},
        {"vad_min_speech": -0.1},
        {"vad_min_silence": NAN},
        {"vad_padding": "0.1"},
        {"condition_on_previous_text": "no"},
        {"carry_initial_prompt": None},
        {"task": "lang_id"},
        {"beam_size": None, "patience": 1.0},
    ],
    ids=str,
)
def test_wrong_options_of_a_recording_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(reversed(wrong))):
        TranscribeOptions(**wrong)


NOTHING_USEFUL: list[Any] = [
    *(np.array(value) for value in (5, "x", [1, 2], [], [[0.5]], [None])),
    *(10**400, -(10**400), NAN, INF, 1j, 5e-324),
    *("", " ", ",", "x" * 9999, "\ud800", "\0", "@no-such-file", "regex:("),
    *(b"", b"x", bytearray(b"x"), object(), int, len, {}, {1: 2}, {None}, [[1]], [None], [10**400], range(3)),
]


@pytest.mark.parametrize("cls", [DecodingOptions, TranscribeOptions])
@pytest.mark.parametrize("value", NOTHING_USEFUL, ids=lambda value: repr(value)[:30])
def test_any_value_is_taken_or_refused_by_name(cls: type[WindowOptions], value: Any) -> None:
    """B06: never another error, from deep within, about something that nobody gave."""
    refusals = {}
    for name in (field.name for field in dataclasses.fields(cls)):
        try:
            cls(**{name: value})
        except OptionError as error:
            refusals[name] = str(error)
    assert refusals
    assert all(name.removesuffix("s") in refusal for name, refusal in refusals.items())


@pytest.mark.parametrize("name", ["beam_size", "best_of"])
def test_more_hypotheses_than_fit_any_memory_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} must be at most 10000, got 10001"):
        TranscribeOptions(**{name: 10_001})


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("0", (0.0,)), ("", ()), ("1,2.5, 3", (1.0, 2.5, 3.0)), ([0, 10], (0.0, 10.0)), ((4,), (4.0,))],
)
def test_clips_are_seconds(given: Any, seconds: tuple[float, ...]) -> None:
    assert parse_clip_timestamps(given) == seconds
