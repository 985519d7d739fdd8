"""Work on the next window beside the decoder: in a thread of its own, with its errors, and no longer than needed."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sasayaki import TranscribeOptions
from sasayaki.audio.constants import SAMPLE_RATE
from sasayaki.transcribe.ahead import Ahead
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.recording import Recording
from sasayaki.transcribe.requests import Window
from tests.fakes import text
from tests.scripted_model import make_english_model
from tests.transcribe.scripted_decoder import Question, ScriptedDecoder, WholeMel, recording, result, run_loop


class WatchedMel:
    """Notes which frames were read, and whether by the thread that made it; may fail in the other one."""

    def __init__(self, mel: WholeMel, fault: Exception | None = None) -> None:
        self._mel = mel
        self._fault = fault
        self._home = threading.get_ident()
        self.read_ahead = threading.Event()
        self.reads: list[tuple[int, int, bool]] = []

    def read(self, start: int, end: int) -> np.ndarray:
        is_here = threading.get_ident() == self._home
        self.reads.append((start, end, is_here))
        if not is_here:
            self.read_ahead.set()
            if self._fault:
                raise self._fault
        return self._mel.read(start, end)


def watched(content_frames: int, fault: Exception | None = None) -> tuple[Recording, WatchedMel]:
    plain = recording(content_frames)
    mel = WatchedMel(plain.mel, fault)
    return replace(plain, mel=mel), mel


def test_the_next_window_is_prepared_while_the_decoder_runs() -> None:
    audio, mel = watched(9000)

    def answer(question: Question) -> Any:
        if question.seek == 0:
            assert mel.read_ahead.wait(10)
        return result(text(" a"))

    run_loop(ScriptedDecoder(answer), audio, TranscribeOptions(vad="off"), language="en")
    audio.close()
    assert [read for read in mel.reads if not read[2]] == [(3000, 6000, False), (6000, 9000, False)]
    assert [read for read in mel.reads if read[2]] == [(0, 3000, True), (3000, 6000, True), (6000, 9000, True)]


def test_what_fails_ahead_is_raised_where_the_window_is_needed() -> None:
    audio, _ = watched(9000, OSError("the disk is gone"))
    decoder = ScriptedDecoder(lambda _: result(text(" a")))
    with pytest.raises(OSError, match="the disk is gone"):
        run_loop(decoder, audio, TranscribeOptions(vad="off"), language="en")
    assert len(decoder.questions) == 1
    audio.close()


def test_closing_waits_for_the_work_and_ends_its_thread() -> None:
    ahead, go_on, done, workers = Ahead(), threading.Event(), [], []

    def work() -> None:
        workers.append(threading.current_thread())
        done.append(go_on.wait(10))

    ahead.begin(work)
    threading.Timer(0.05, go_on.set).start()
    ahead.close()
    ahead.close()
    assert done == [True]
    assert not workers[0].is_alive()


def test_an_error_that_nobody_waited_for_does_not_keep_a_recording_from_closing() -> None:
    audio, mel = watched(9000, OSError("the disk is gone"))
    Driver(ScriptedDecoder(lambda _: result()), audio).features(Window(0, 3000))
    assert mel.read_ahead.wait(10)
    audio.close()


def test_the_work_knows_that_it_is_the_work() -> None:
    ahead, found = Ahead(), []
    ahead.begin(lambda: found.append(ahead.is_here()))
    ahead.settle()
    assert [*found, ahead.is_here()] == [True, False]
    ahead.close()


def test_cancel_is_asked_by_the_thread_of_the_caller_alone() -> None:
    """What users hand in need not expect other threads."""
    noise = np.random.default_rng(0).standard_normal(95 * SAMPLE_RATE).astype(np.float32) / 10
    threads = set()
    make_english_model().transcribe(noise, cancel=lambda: threads.add(threading.get_ident()), vad="auto")
    assert threads == {threading.get_ident()}


def test_the_thread_of_what_nobody_has_any_more_ends() -> None:
    """Streams that are dropped half-way would leave a thread each."""
    ahead = Ahead()
    threads: list[threading.Thread] = []
    ahead.begin(lambda: threads.append(threading.current_thread()))
    ahead.settle()
    del ahead
    gc.collect()
    threads[0].join(10)
    assert not threads[0].is_alive()
