"""Tests of decodes that join and leave while others go on."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from sasayaki.decoding.pool import TaskPool, run_tasks
from sasayaki.decoding.task import DecodingTask
from sasayaki.options import DecodingOptions
from tests.fakes import N_VOCAB, ScriptedInference, byte_tokenizer, say, text


def make(inference: ScriptedInference, name: int, prompt: str = "", *, n_audio_ctx: int = 1500) -> DecodingTask:
    audio = replace(inference.encode([[[float(name)]]])[0], array=np.zeros((n_audio_ctx, 8), np.float32))
    options = DecodingOptions(language="en", without_timestamps=True, beam_size=2, prompt=prompt or None)
    return DecodingTask(audio, byte_tokenizer(), options, n_text_ctx=448, n_vocab=N_VOCAB)


def script(name: float, history: tuple[int, ...]) -> object:
    return say(text("x" * int(name) + "!"))(name, history)


def engine() -> ScriptedInference:
    return ScriptedInference(script, name_audio=lambda mel: mel[0][0])


@pytest.mark.parametrize("seed", range(5))
def test_tasks_that_join_at_any_time_decode_as_alone(seed: int) -> None:
    rng = random.Random(seed)
    inference = engine()
    names = [rng.randrange(1, 30) for _ in range(12)]
    prompts = [rng.choice(["", "a long prompt"]) for _ in names]
    alone = [run_tasks(engine(), [make(inference, *each)])[0].tokens for each in zip(names, prompts, strict=True)]
    pool = TaskPool(inference)
    waiting = [make(inference, *each) for each in zip(names, prompts, strict=True)]
    order = list(waiting)
    found = {}
    while waiting or len(pool):
        for _ in range(rng.randrange(3)):
            if waiting:
                pool.add(waiting.pop(0))
        found.update(pool.step())
    assert [found[task].tokens for task in order] == alone
    assert inference.n_open == 0


def test_what_is_added_waits_until_those_under_way_are_done() -> None:
    inference = engine()
    pool = TaskPool(inference)
    pool.add(make(inference, 20))
    pool.step()
    pool.add(make(inference, 3))
    pool.add(make(inference, 4, "a prompt of some length"))
    while len(pool):
        pool.step()
    listened = [{row.audio.name for row in call.rows} for call in inference.calls]
    begin = listened.index({3.0, 4.0})
    assert listened[:begin] == [{20.0}] * begin
    assert {20.0} not in listened[begin:]


def test_windows_of_different_lengths_have_sessions_of_their_own() -> None:
    inference = engine()
    tasks = [make(inference, 7, n_audio_ctx=length) for length in (1500, 500, 500, 1000)]
    pool = TaskPool(inference)
    for task in tasks:
        pool.add(task)
    pool.step()
    assert inference.n_open == 3
    assert [len(call.rows) for call in inference.calls] == [1, 2, 1]
    while len(pool):
        pool.step()
    assert inference.n_open == 0


def test_what_is_raised_closes_the_session() -> None:
    inference = engine()

    def check() -> None:
        if len(inference.calls) == 2:
            raise RuntimeError("enough")

    pool = TaskPool(inference, check)
    pool.add(make(inference, 9))
    assert pool.step() == pool.step() == []
    with pytest.raises(RuntimeError, match="enough"):
        pool.step()
    assert inference.n_open == 0
    assert len(pool) == 0
