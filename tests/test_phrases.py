"""The option `phrases`: what it takes and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.errors import OptionError
from sasayaki.options import DecodingOptions, TranscribeOptions
from sasayaki.phrases import parse_phrases


@pytest.mark.parametrize(
    ("value", "phrases"),
    [
        (None, None),
        ({}, {}),
        ("", {}),
        ({"Kubernetes": 3.0}, {"Kubernetes": 3.0}),
        ({" Dr. Müller ": np.float32(2), "a": np.int64(1)}, {"Dr. Müller": 2.0, "a": 1.0}),
        ("Kubernetes=3.0,Dr. Müller=2.0", {"Kubernetes": 3.0, "Dr. Müller": 2.0}),
        (" a = 1 , b = .5,c=1e1,", {"a": 1.0, "b": 0.5, "c": 10.0}),
        ("Smith, John=2,Foo=1", {"Smith, John": 2.0, "Foo": 1.0}),
        ("a=b=2", {"a=b": 2.0}),
        ("東京=0", {"東京": 0.0}),
        ("a=100", {"a": 100.0}),
    ],
)
def test_phrases_are_given_as_a_mapping_or_as_text(value: Any, phrases: object) -> None:
    assert parse_phrases(value) == phrases
    assert DecodingOptions(phrases=value).phrases == TranscribeOptions(phrases=value).phrases == phrases


def test_phrases_are_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "names.json"
    file.write_text(json.dumps({"Dr. Müller": 2, "Kubernetes": 3.5}, ensure_ascii=False), "utf-8")
    assert parse_phrases(f"@{file}") == {"Dr. Müller": 2.0, "Kubernetes": 3.5}


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "3", '"a=1"', '{"a": "1"}', '{"a": null}', '{"": 1}', '{"a": NaN}']
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "names.json").write_text(content, "utf-8")
    with pytest.raises(OptionError, match="phrases"):
        parse_phrases(f"@{tmp_path / 'names.json'}")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("Kubernetes", "PHRASE=WEIGHT"),
        ("a=1,b", "PHRASE=WEIGHT.*'b'"),
        ("a=", "PHRASE=WEIGHT"),
        ("a=hot", "PHRASE=WEIGHT"),
        ("=3", "PHRASE=WEIGHT"),
        ("a=nan", "PHRASE=WEIGHT"),
        ("@no-such-file.json", "no-such-file.json"),
        ("a=-1", "from 0 to 100.*-1.*'a'"),
        ("a=101", "from 0 to 100.*101"),
        ({"a": -0.5}, "from 0 to 100"),
        ({"a": float("nan")}, "from 0 to 100"),
        ({"a": float("inf")}, "from 0 to 100"),
        ({"a": 10**400}, "from 0 to 100"),
        ({"a": "3"}, "from 0 to 100"),
        ({"a": None}, "from 0 to 100"),
        ({"a": True}, "from 0 to 100"),
        ({"": 1}, "not empty"),
        ({" ": 1}, "not empty"),
        ({3: 1}, "not empty, got 3"),
        (["a"], "mapping"),
        (3, "mapping"),
        (b"a=1", "mapping"),
    ],
)
def test_what_cannot_be_used_is_refused(value: Any, named: str) -> None:
    with pytest.raises(OptionError, match=f"^phrases.*{named}"):
        TranscribeOptions(phrases=value)


@given(st.dictionaries(st.text(st.characters(exclude_characters="=,"), min_size=1), st.floats(0, 100)))
def test_text_and_mapping_mean_the_same(phrases: dict[str, float]) -> None:
    stripped = {phrase.strip(): weight for phrase, weight in phrases.items() if phrase.strip()}
    written = ",".join(f"{phrase}={weight!r}" for phrase, weight in stripped.items())
    if not written.startswith("@"):
        assert parse_phrases(written) == stripped
