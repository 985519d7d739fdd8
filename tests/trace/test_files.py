"""Traces written to a file and read back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sasayaki
from sasayaki.errors import OutputError, TraceError
from sasayaki.trace import AttentionMap, DecodeFinished, RankedHypothesis, Trace, events
from sasayaki.trace.lines import from_line, to_line
from tests.fakes import say, text, ts
from tests.trace.examples import random_model, trace_of, watched_model


def example() -> Trace:
    """A trace with every kind of event."""
    trace = Trace()
    model = watched_model(say((ts(0.0), *text(" hé"), ts(1.0))))
    model.transcribe(np.zeros(16_000 * 5, np.float32), beam_size=2, trace=trace)
    model.decode(np.zeros((80, 3000), np.float32), trace=trace, temperature=0.5, best_of=2)
    return trace


def test_what_is_read_equals_what_was_written(tmp_path: Path) -> None:
    trace = example()
    trace.write(tmp_path / "trace.jsonl")
    again = sasayaki.Trace.read(tmp_path / "trace.jsonl")
    assert list(again) == list(trace)
    assert [type(event) for event in again] == [type(event) for event in trace]


@pytest.mark.parametrize("seed", range(5))
def test_traces_of_random_searches_survive_the_file(tmp_path: Path, seed: int) -> None:
    trace = trace_of(random_model(seed), beam_size=3)
    trace.write(tmp_path / "trace.jsonl")
    assert list(Trace.read(tmp_path / "trace.jsonl")) == list(trace)


def test_the_file_is_strict_json_with_a_versioned_header(tmp_path: Path) -> None:
    example().write(tmp_path / "trace.jsonl")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    lines = (tmp_path / "trace.jsonl").read_text("utf-8").splitlines()
    header, *events = (json.loads(line, parse_constant=refuse) for line in lines)
    assert header == {"format": "sasayaki-trace", "version": 1}
    assert {event["kind"] for event in events} == {
        "TranscriptionStarted",
        "DecodeStarted",
        "DecodeStep",
        "DecodeFinished",
        "AttentionMap",
        "WindowFinished",
    }


numbers = st.floats(allow_nan=False)


@given(st.text(), st.lists(st.integers(0, 60_000)).map(tuple), numbers, numbers)
def test_any_text_and_number_survives_a_line(said: str, tokens: tuple[int, ...], score: float, ratio: float) -> None:
    hypothesis = RankedHypothesis(tokens=tokens, text=said, score=score, sum_logprob=-score, stop="eot")
    event = DecodeFinished(
        decode=0,
        text=said,
        temperature=0.0,
        avg_logprob=score,
        compression_ratio=ratio,
        no_speech_prob=0.5,
        hypotheses=(hypothesis, hypothesis),
    )
    line = to_line(event)
    assert "\n" not in line
    assert from_line(line) == event


def test_attention_keeps_its_weights_within_a_255th_of_the_peak() -> None:
    weights = np.random.default_rng(0).random((3, 50), np.float32) * np.array([[1.0], [0.01], [0.0]], np.float32)
    event = AttentionMap.pack(weights, decode=0, texts=("a", "b", "c"), heads=((0, 1),))
    again = from_line(to_line(event))
    assert isinstance(again, AttentionMap)
    np.testing.assert_allclose(again.weights(), weights, atol=1 / 255)
    np.testing.assert_allclose(again.weights()[1], weights[1], atol=0.01 / 255)


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"hello\n", b'{"format": "other"}\n', b"[1]\n", b"\xff\xfe\n", b"\x00"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(TraceError, match="trace"):
            Trace.read(tmp_path / "other")
    with pytest.raises(TraceError, match="missing"):
        Trace.read(tmp_path / "missing")


def test_another_version_is_refused_with_both_versions(tmp_path: Path) -> None:
    (tmp_path / "new").write_text('{"format": "sasayaki-trace", "version": 99}\n')
    with pytest.raises(TraceError, match=r"version 99.*version 1"):
        Trace.read(tmp_path / "new")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "3",
        "{}",
        '{"kind": "Nonsense"}',
        '{"kind": "DecodeStep", "decode": 0}',
        '{"kind": "DecodeStep", "decode": 0, "index": 0, "rows": 5, "living": [], "finished": []}',
        '{"kind": "DecodeStep", "decode": 0, "index": 0, "rows": [], "living": [], "finished": [], "more": 1}',
    ],
)
def test_a_damaged_line_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "damaged").write_text('{"format": "sasayaki-trace", "version": 1}\n' + line + "\n")
    with pytest.raises(TraceError, match="line 2"):
        Trace.read(tmp_path / "damaged")


def test_a_file_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        Trace().write(tmp_path / "nowhere" / "trace.jsonl")


def test_a_trace_that_was_read_can_be_added_to(tmp_path: Path) -> None:
    trace_of(random_model()).write(tmp_path / "trace.jsonl")
    trace = Trace.read(tmp_path / "trace.jsonl")
    random_model().decode(np.zeros((80, 3000), np.float32), language="en", sample_len=4, trace=trace)
    assert [decode.started.decode for decode in trace.decodes()] == [0, 1]


def test_every_field_of_an_event_has_a_type_that_the_reader_knows() -> None:
    """Reading is driven by annotations; a field of another kind would come back as it stands in the file."""
    for event in example():
        assert from_line(to_line(event)) == event
        assert dataclasses.is_dataclass(event)


@pytest.mark.parametrize("kind", [each for each in vars(events).values() if dataclasses.is_dataclass(each)])
def test_everything_in_a_trace_is_documented_with_its_fields(kind: type) -> None:
    document = (Path(__file__).parents[2] / "docs" / "trace.md").read_text("utf-8")
    (line,) = (line for line in document.splitlines() if line.startswith(f"| `{kind.__name__}`"))
    assert not [field.name for field in dataclasses.fields(kind) if f"`{field.name}`" not in line]
