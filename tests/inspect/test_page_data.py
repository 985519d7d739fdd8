"""What is embedded in the page: windows, attempts, steps, pictures, and how large it gets."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sasayaki
from sasayaki.inspect import build_page, write_page
from sasayaki.inspect.decodes import Detail
from sasayaki.inspect.windows import window_blocks
from sasayaki.trace import DecodeFinished, DecodeStep, Trace
from tests.fakes import EOT
from tests.inspect.examples import (
    BANNED,
    SAID,
    embedded,
    long_trace,
    noise,
    recording,
    transcribed,
    with_rejected,
    with_words,
)
from tests.trace.examples import random_model, trace_of

NAME = "<talk> & more.wav"


@pytest.fixture(scope="module")
def trace_and_samples() -> tuple[Trace, np.ndarray]:
    return transcribed()


@pytest.fixture(scope="module")
def page(trace_and_samples: tuple[Trace, np.ndarray]) -> str:
    return build_page(*trace_and_samples, name=NAME)


def test_the_page_needs_nothing_else(page: str) -> None:
    assert not re.findall(r'(?:src|href)="(?!#|data:)', page)
    assert not re.findall(r"https?://|@import|url\(", page)
    assert "<!--" not in page.replace("<!doctype", "")
    assert "default-src 'none'" in page


def test_names_and_texts_cannot_break_out_of_their_elements(page: str) -> None:
    assert "<title>&lt;talk&gt; &amp; more.wav" in page
    assert embedded(page, "meta")["name"] == NAME
    assert "<b>&friends" not in page
    assert "<b>&friends</b>" in embedded(page, "meta")["windows"][0]["text"]


def test_a_page_is_written_with_the_name_of_the_recording(
    trace_and_samples: tuple[Trace, np.ndarray], tmp_path: Path
) -> None:
    trace, samples = trace_and_samples
    write_page(tmp_path / "page.html", trace, samples)
    assert embedded((tmp_path / "page.html").read_text("utf-8"), "meta")["name"] == "recording"
    assert embedded(build_page(trace, samples, name=NAME), "meta")["name"] == NAME


def test_the_recording_may_be_a_file(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "data" / "en_fox.ogg"
    trace = Trace()
    random_model(eot=2.0).transcribe(path, language="en", sample_len=6, temperature=0.0, trace=trace)
    page = build_page(trace, path)
    assert embedded(page, "meta")["name"] == "en_fox.ogg"
    assert embedded(build_page(trace, io.BytesIO(path.read_bytes())), "meta")["name"] == "recording"


def test_a_page_cannot_be_written_into_nowhere(trace_and_samples: tuple[Trace, np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(sasayaki.OutputError, match=r"cannot write .*none"):
        write_page(tmp_path / "none" / "page.html", *trace_and_samples)


def test_a_trace_must_be_of_one_transcription(trace_and_samples: tuple[Trace, np.ndarray]) -> None:
    trace, samples = trace_and_samples
    with pytest.raises(sasayaki.TraceError, match="expected the trace of one transcription, got one of none"):
        build_page(trace_of(random_model()), samples)
    with pytest.raises(sasayaki.TraceError, match="got one of 2"):
        build_page(Trace([*trace, *trace]), samples)


def test_the_recording_must_be_that_of_the_trace(trace_and_samples: tuple[Trace, np.ndarray]) -> None:
    with pytest.raises(sasayaki.AudioError, match=r"of the trace, 50\.00 seconds, got one of 40\.00 seconds"):
        build_page(trace_and_samples[0], recording(40.0))


def test_the_overview_has_every_window_with_its_segments(page: str) -> None:
    meta = embedded(page, "meta")
    assert [(window["start"], window["attempts"], window["isSilent"]) for window in meta["windows"]] == [
        (9.0 * number, 1 + (number == 1), False) for number in range(6)
    ]
    segments = meta["windows"][1]["segments"]
    assert [(segment["start"], segment["end"]) for segment in segments] == [(9.0, 13.0), (13.0, 18.0)]
    assert (meta["model"], meta["duration"], meta["language"]) == ("scripted", 50.0, "en")
    assert meta["options"]["beam_size"] == 3


def test_rejected_text_is_in_the_overview_with_its_reason(trace_and_samples: tuple[Trace, np.ndarray]) -> None:
    trace, samples = trace_and_samples
    window = embedded(build_page(with_rejected(trace), samples), "meta")["windows"][0]
    assert [(segment["reason"], segment["isRecovered"]) for segment in window["segments"]] == [("", False), ("", True)]
    assert [(each["text"], each["reason"], each["speech"]) for each in window["rejected"]] == [
        ("<b>&friends</b>", "no_voice", 0.25)
    ]


def test_segments_have_their_words(trace_and_samples: tuple[Trace, np.ndarray]) -> None:
    trace, samples = trace_and_samples
    segment = embedded(build_page(with_words(trace), samples), "meta")["windows"][0]["segments"][0]
    assert segment["words"] == [["Good-", 0.5, 2.0, 0.25], ["morning", 2.0, 4.0, 0.75]]


def test_a_window_has_its_attempts_with_what_they_failed(page: str) -> None:
    attempts = embedded(page, "data-1")["attempts"]
    assert [(attempt["temperature"], attempt["failed"], attempt["isKept"]) for attempt in attempts] == [
        (0.0, ["logprob_threshold"], False),
        (0.2, [], True),
    ]
    assert attempts[1]["figures"]["avg_logprob"] > -1.0 > attempts[0]["figures"]["avg_logprob"]


def test_steps_have_candidates_before_and_after_each_filter(page: str) -> None:
    window = embedded(page, "data-0")
    attempt = window["attempts"][0]
    assert attempt["stages"] == ["SuppressBlank", "SuppressTokens", "ApplyTimestampRules"]
    rows, _, _ = attempt["steps"][1]
    _, candidates, effects = rows[attempt["path"][1]]
    found = {window["texts"][str(token)]: logprobs for token, _, *logprobs in candidates}
    assert math.exp(found["G"][0] / 100) == pytest.approx(0.665, abs=0.01)
    assert math.exp(found["G"][-1] / 100) == pytest.approx(0.731, abs=0.01)
    assert found["("][1] is not None
    assert found["("][2] is None
    assert effects[1][3][0][0] == BANNED


def test_the_winning_path_says_the_result(page: str) -> None:
    attempt = embedded(page, "data-0")["attempts"][0]
    assert tuple(attempt["hypotheses"][0]["tokens"]) == (*SAID, EOT)
    tokens = []
    for (_, living, _), row in zip(attempt["steps"], attempt["path"][1:], strict=False):
        assert living[row][0] == attempt["path"][len(tokens)]
        tokens.append(living[row][1])
    assert tuple(tokens) == SAID


def test_figures_that_are_no_numbers_are_left_out(trace_and_samples: tuple[Trace, np.ndarray]) -> None:
    """B128: a decode whose logits were all -inf but one, or of silence, may have such figures."""
    trace, samples = trace_and_samples

    def spoilt(event: Any) -> Any:
        if not isinstance(event, DecodeFinished):
            return event
        worst = tuple(replace(each, score=-math.inf, sum_logprob=-math.inf) for each in event.hypotheses)
        return replace(event, avg_logprob=-math.inf, no_speech_prob=math.nan, hypotheses=worst)

    attempt = embedded(build_page(Trace(map(spoilt, trace)), samples), "data-0")["attempts"][0]
    assert attempt["figures"] == {
        "avg_logprob": None,
        "compression_ratio": pytest.approx(0.77, abs=0.01),
        "no_speech_prob": None,
    }
    assert attempt["hypotheses"][0]["score"] is None


def test_a_trace_that_was_written_and_read_gives_the_same_page(
    trace_and_samples: tuple[Trace, np.ndarray], page: str, tmp_path: Path
) -> None:
    trace, samples = trace_and_samples
    trace.write(tmp_path / "trace.jsonl")
    assert build_page(Trace.read(tmp_path / "trace.jsonl"), samples, name=NAME) == page


def test_pictures_have_the_size_that_the_data_says(page: str) -> None:
    window = embedded(page, "data-1")
    assert window["columns"] == 1500
    assert len(embedded(page, "spectrogram-1")) == window["columns"] * window["mels"]
    maps = [attempt["attention"] for attempt in window["attempts"]]
    assert len(embedded(page, "attention-1")) == sum(len(each["path"]) * each["columns"] for each in maps)
    last = embedded(page, "data-5")
    assert last["columns"] == last["attempts"][0]["attention"]["columns"] == 250
    meta = embedded(page, "meta")
    assert len(base64.b64decode(meta["peaks"])) == 2 * 50 * meta["peaksPerSecond"]


def test_an_engine_without_attention_gives_a_page_without_maps() -> None:
    trace = Trace()
    samples = recording(5.0)
    random_model(eot=2.0).transcribe(samples, language="en", sample_len=6, temperature=0.0, trace=trace)
    page = build_page(trace, samples)
    assert embedded(page, "data-0")["attempts"][0]["attention"] is None
    assert embedded(page, "attention-0") == b""


def test_an_empty_recording_gives_a_page_without_windows() -> None:
    trace = Trace()
    samples = np.zeros(0, np.float32)
    random_model().transcribe(samples, language="en", trace=trace)
    assert embedded(build_page(trace, samples), "meta")["windows"] == []


def test_ten_minutes_stay_under_fifteen_megabytes() -> None:
    page = build_page(long_trace(), noise(600))
    assert len(page) < 15_000_000
    assert len(embedded(page, "meta")["windows"]) == 22


@pytest.mark.parametrize(
    ("detail", "has_candidates", "has_attention"),
    [
        (Detail.ALL, [[True, True], [True, True]], [True, True]),
        (Detail.WINNERS, [[True, False], [True, False]], [True, True]),
        (Detail.KEPT, [[False, False], [True, False]], [False, True]),
    ],
    ids=str,
)
def test_with_less_detail_there_is_still_the_whole_search(
    detail: Detail, has_candidates: list[list[bool]], has_attention: list[bool]
) -> None:
    trace = long_trace(seconds=28, n_rows=2, n_attempts=2, n_steps=8)
    (block,) = window_blocks(trace, np.zeros((80, 2800), np.float32), detail)
    attempts = json.loads(block.data)["attempts"]
    steps = [attempt["steps"][5] for attempt in attempts]
    assert [[bool(candidates) for _, candidates, _ in rows] for rows, _, _ in steps] == has_candidates
    assert [attempt["attention"] is not None for attempt in attempts] == has_attention
    assert len(block.attention) == sum(has_attention) * 8 * 1400
    assert [len(living) for _, living, _ in steps] == [2, 2]


def test_a_page_that_would_be_too_large_has_less_detail(
    trace_and_samples: tuple[Trace, np.ndarray], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, attempt_has_candidates in ((len(page) - 1, True), (1, False)):
        monkeypatch.setattr("sasayaki.inspect.page.SIZE_LIMIT", limit)
        smaller = build_page(*trace_and_samples)
        assert len(smaller) < len(page)
        attempt = embedded(smaller, "data-1")["attempts"][0]
        rows, _, _ = attempt["steps"][5]
        assert bool(rows[attempt["path"][5]][1]) == attempt_has_candidates


def test_a_page_of_usual_size_keeps_everything(trace_and_samples: tuple[Trace, np.ndarray], page: str) -> None:
    steps = trace_and_samples[0].of(DecodeStep)
    first = embedded(page, "data-0")["attempts"][0]["steps"]
    for step, shown in zip(steps, first, strict=False):
        assert [len(row.candidates) for row in step.rows] == [len(candidates) for _, candidates, _ in shown[0]]
