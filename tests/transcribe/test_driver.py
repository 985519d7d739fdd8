"""The loop as a generator: what it asks, and how a driver answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sasayaki import BackendError, TranscribeOptions
from sasayaki.decoding.decode import Decoder
from sasayaki.decoding.language import DetectedLanguage
from sasayaki.options import DecodingOptions
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.requests import Attend, Decode, Detect, Loop, Request, Window, WindowResult
from tests.fakes import ScriptedInference, byte_tokenizer, text, ts
from tests.transcribe.scripted_decoder import ScriptedDecoder, recording, result, windows

A, B = text(" a"), text(" b")


def loop(content_frames: int, **options: Any) -> Loop:
    settled = TranscribeOptions(**({"vad": "off", "short_context": False} | options))
    work = Assignment(content_frames, settled, byte_tokenizer(), n_text_ctx=448)
    return transcribe_recording(work, work.begin())


def test_a_loop_runs_without_any_engine() -> None:
    steps = loop(4000, multilingual=True, temperature=0.0, initial_prompt="x")
    assert next(steps) == Detect(Window(0, 3000))
    asked = steps.send(DetectedLanguage("de", 0, {"de": 0.9}))
    assert isinstance(asked, Decode)
    assert (asked.window, asked.options.language, asked.options.prompt) == (Window(0, 3000), "de", text(" x"))
    first = steps.send(result((ts(0), *A, ts(12), ts(12), *B)))
    assert isinstance(first, WindowResult)
    assert [segment.text for segment in first.segments] == [" a"]
    assert (first.done, first.place.seek, first.place.n_segment, first.place.language) == (1200, 1200, 1, "de")
    assert next(steps) == Detect(Window(1200, 4000))
    assert steps.send(DetectedLanguage("fr", 0, {"fr": 0.2})).options.language == "de"
    assert steps.send(result(B)).done == 4000
    with pytest.raises(StopIteration):
        next(steps)


def test_many_loops_may_be_driven_in_turns() -> None:
    loops = [loop(6000), loop(3000)]
    asked: list[Any] = [next(one) for one in loops]
    done: list[tuple[int, int]] = []
    while any(asked):
        for number, one in enumerate(loops):
            if isinstance(asked[number], WindowResult):
                done.append((number, asked[number].done))
                asked[number] = next(one, None)
            elif asked[number]:
                asked[number] = one.send(result(A))
    assert done == [(0, 3000), (1, 3000), (0, 6000)]


@pytest.mark.parametrize("seek", [0, 1200, 4200, 5000])
def test_a_loop_goes_on_from_any_place(seek: int) -> None:
    """The place after a window is all that the rest depends on."""
    spoken = windows((ts(0), *A, ts(12), ts(12), *B), A, (ts(0), *B, ts(8), ts(8), *A), B)
    options: dict[str, Any] = {
        "vad": "off",
        "clip_timestamps": "0,42,50,90",
        "initial_prompt": "x",
        "carry_initial_prompt": True,
    }
    work = Assignment(9000, TranscribeOptions(**options), byte_tokenizer(), n_text_ctx=448)

    def run(steps: Loop) -> list[WindowResult]:
        return list(Driver(ScriptedDecoder(spoken), recording(9000)).run(steps))

    whole = run(transcribe_recording(work, work.begin()))
    kept = [window for window in whole if window.window.start < seek]
    place = kept[-1].place if kept else work.begin()
    assert [*kept, *run(transcribe_recording(work, place))] == whole


def asking(*requests: Request) -> Iterator[Any]:
    """A part of a loop with some requests; it finds their answers."""
    answers = []
    for request in requests:
        answers.append((yield request))
    return answers


def test_a_window_is_encoded_once_whatever_is_asked_of_it() -> None:
    """Fallback and words ask about the same frames again, guards about others."""
    decoder = ScriptedDecoder(lambda question: result(A))
    driver = Driver(decoder, recording(3000))
    options = DecodingOptions(language="en")
    whole, part = Window(0, 3000), Window(700, 1200)
    driver.find(asking(Decode(whole, options), Decode(whole, options), Decode(part, options), Decode(part, options)))
    assert [(question.seek, question.size) for question in decoder.questions] == [(0, 3000)] * 2 + [(700, 500)] * 2
    assert len(decoder.contexts) == 2


def test_a_driver_forgets_what_it_encoded_when_the_window_is_done() -> None:
    driver = Driver(ScriptedDecoder(windows(A)), recording(9000))
    for _ in driver.run(loop(9000)):
        assert driver._encoded == {}


def test_what_is_encoded_is_filled_up_to_30_s() -> None:
    inference = ScriptedInference(lambda *_: np.zeros(1), name_audio=lambda mel: mel.copy())
    inference.cross_attention = lambda audio, tokens, heads: (audio.name, tokens, heads)
    driver = Driver(Decoder(inference, byte_tokenizer()), recording(1000))
    ((mel, tokens, heads),) = driver.find(asking(Attend(Window(900, 1100), (1, 2), ((0, 0),))))
    assert (mel.shape, tokens, heads) == ((2, 3000), (1, 2), ((0, 0),))
    assert mel[0].tolist() == [*range(900, 1100), *[0] * 2800]
    assert mel[1].sum() == 100, "frames behind the end are silence"


def test_what_is_missing_may_be_silence() -> None:
    """Single words are heard better before silence than before the hiss that 0.0 stands for."""
    heard = recording(400)
    heard.mel.frames[1, 400:] = -1.5  # type: ignore[attr-defined]
    assert heard.window(Window(100, 300))[1, 200:].tolist() == [0.0] * 2800
    silent = heard.window(Window(100, 300, ends_in_silence=True))
    assert silent.shape == (2, 3000)
    assert silent[1].tolist() == [1.0] * 200 + [-1.5] * 2800
    assert heard.window(Window(0, 3000, ends_in_silence=True)).shape == (2, 3000)


def test_attention_of_an_engine_that_cannot_tell_is_an_error() -> None:
    driver = Driver(Decoder(ScriptedInference(lambda *_: np.zeros(1)), byte_tokenizer()), recording(1000))
    with pytest.raises(BackendError, match="ScriptedInference"):
        driver.find(asking(Attend(Window(0, 1000), (1,), ((0, 0),))))


def test_closing_a_drive_closes_its_loop() -> None:
    steps = loop(9000)
    drive = Driver(ScriptedDecoder(windows(A)), recording(9000)).run(steps)
    next(drive)
    drive.close()
    assert next(steps, None) is None
