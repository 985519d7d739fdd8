"""Tests of which graph of the OpenVINO decoder takes a call, and of what moves from one to another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference import openvino_backend
from sasayaki.inference.base import AudioFeatures, DecoderSession, Row
from sasayaki.inference.openvino_backend import OpenVINOInference
from tests.inference.engine_checks import PlannedRow, TwinChecker, assert_close
from tests.models import random_checkpoint, random_mel, tiny_dims
from tests.reference.numpy_whisper import NumpyWhisper

CHECKPOINT = random_checkpoint(tiny_dims(n_state=128))
DIMS = CHECKPOINT.dims
PRECISIONS = ("float32", "auto")


class Watched(OpenVINOInference):
    """Counts the graphs for steps that are asked for."""

    def __init__(self, precision: str) -> None:
        super().__init__(CHECKPOINT, precision=precision, threads=1)
        self.asked: list[int] = []
        step = self._decoder.step
        object.__setattr__(self._decoder, "step", lambda n_rows: self.asked.append(n_rows) or step(n_rows))


@pytest.fixture(scope="module", params=PRECISIONS)
def engines(request: pytest.FixtureRequest) -> tuple[Watched, OpenVINOInference]:
    """An engine with graphs for steps, and its slow twin without."""
    with pytest.MonkeyPatch.context() as patch:
        watched = Watched(request.param)
        plain = OpenVINOInference(CHECKPOINT, precision=request.param, threads=1)
        patch.setattr(
            plain, "_decoder", type(watched._decoder)(plain._decoder.general, lambda _: None, plain._decoder.head)
        )
        yield watched, plain


def fed(session: DecoderSession, audio: AudioFeatures, calls: Sequence[Sequence[tuple[int, int | None]]]) -> np.ndarray:
    """Logits of the last of these calls of (token, source)."""
    for call in calls:
        logits = np.array(session.forward([Row(audio, (token,), source) for token, source in call]))
    return logits


CALLS = [
    [(5, None), (6, None), (7, None)],
    [(1, 2), (2, 0)],  # two rows from here on
    [(3, 1), (4, 1)],
    [(5, 1), (6, 0)],
    [(7, 0)],  # one of them leaves
    [(8, 0), (9, 0), (10, 0)],
]


@pytest.mark.parametrize("n_call", range(1, len(CALLS) + 1))
def test_steps_give_what_any_call_gives(engines: tuple[Watched, OpenVINOInference], n_call: int) -> None:
    """Before, in and behind the graph for steps; on most processors not a bit is different."""
    watched, _ = engines
    watched.asked.clear()
    mel = random_mel(DIMS)
    found, expected = (fed(one.start(), one.encode(mel)[0], CALLS[:n_call]) for one in engines)
    assert_close(found, expected, 1e-4)
    assert watched.asked == ([2] if n_call > 1 else [])


def test_decodes_in_turn_do_not_meet(engines: tuple[Watched, OpenVINOInference]) -> None:
    watched, plain = engines
    audios = [one.encode(random_mel(DIMS, n_audio=1, seed=seed))[0] for one in engines for seed in (0, 1)]
    sessions = [watched.start(), watched.start()]
    for index in range(3):
        call = [(5 + index, 0 if index else None)]
        for session, audio in zip(sessions, audios, strict=False):
            fed(session, audio, [call])
    calls = [[(5, None)], [(6, 0)], [(7, 0)], [(8, 0)]]
    for session, audio, same in zip(sessions, audios[:2], audios[2:], strict=True):
        assert_close(fed(session, audio, calls[3:]), fed(plain.start(), same, calls), 1e-4)


def test_calls_that_are_no_steps_stay_in_the_general_graph(engines: tuple[Watched, OpenVINOInference]) -> None:
    watched, _ = engines
    watched.asked.clear()
    full, other = watched.encode(random_mel(DIMS, n_audio=2))
    prompt = watched.start()
    prompt.forward([Row(full, (1,))])
    prompt.forward([Row(full, (2, 3), 0)])
    prompt.forward([Row(full, (2,), 0)])
    batch = watched.start()
    batch.forward([Row(full, (1,)), Row(other, (2,))])
    batch.forward([Row(full, (1,), 0), Row(other, (2,), 1)])
    assert watched.asked == []


def test_another_window_may_follow_in_the_same_steps() -> None:
    inference = OpenVINOInference(CHECKPOINT, precision="float32", threads=1)
    audios = [inference.encode(random_mel(DIMS, n_frames=n_frames))[0] for n_frames in (40, 20)]
    check = TwinChecker(inference.start(), NumpyWhisper(CHECKPOINT), audios)
    check.forward([PlannedRow((1, 2), None, 0)])
    check.forward([PlannedRow((3,), 0, 0)])
    check.forward([PlannedRow((4,), None, 1)])
    check.forward([PlannedRow((5,), 0, 1)])


@pytest.mark.parametrize(("n_layer", "n_state", "is_small"), [(6, 512, True), (12, 768, False), (4, 1280, False)])
def test_only_small_decoders_are_in_memory_twice(
    monkeypatch: pytest.MonkeyPatch, n_layer: int, n_state: int, is_small: bool
) -> None:
    """base, small and large-v3-turbo, with weights of int8."""
    plan = openvino_backend.PrecisionPlan(has_int8_weights=True, is_bfloat16=True)
    dims = ModelDimensions(80, 1500, n_state, 8, n_layer, 51865, 448, n_state, 8, n_layer)
    assert (plan.n_bytes(openvino_backend._n_weights(dims)) <= openvino_backend._MOST_STEP_BYTES) is is_small
