"""Tests of the OpenVINO engine: against the NumPy twin, with itself in other orders, and its refusals."""

from __future__ import annotations

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import AudioFeatures, DigestingSession, Row
from sasayaki.inference.openvino_audio import Audience
from sasayaki.inference.openvino_backend import OpenVINOInference
from tests.fakes import digest_of
from tests.inference.engine_checks import Plan, PlannedRow, TwinChecker, assert_close, plans
from tests.models import random_checkpoint, random_mel, tiny_dims
from tests.reference.numpy_whisper import NumpyWhisper

CHECKPOINT = random_checkpoint()
DIMS = CHECKPOINT.dims
TWIN = NumpyWhisper(CHECKPOINT)
MEL = random_mel(DIMS, n_audio=3)
INFERENCE = OpenVINOInference(CHECKPOINT, precision="float32", threads=1)


@pytest.fixture(scope="module")
def audios() -> list[AudioFeatures]:
    return INFERENCE.encode(MEL)


def checker(audios: list[AudioFeatures]) -> TwinChecker:
    return TwinChecker(INFERENCE.start(), TWIN, audios)


@pytest.mark.parametrize("n_frames", [40, 39, 12, 1])
def test_encoder_equals_the_twin_at_every_length(n_frames: int) -> None:
    mel = MEL[:, :, :n_frames]
    for audio, window in zip(INFERENCE.encode(mel), mel, strict=True):
        assert audio.array.dtype == np.float32
        assert_close(audio.array, TWIN.encode(window))


def test_encoder_equals_the_twin_where_positions_are_left_out() -> None:
    positions = [[0, 1, 2, 7, 8, 19], [0, 1, 2, 3, 4, 5], [3, 6, 9, 12, 15, 18]]
    mel = MEL[:, :, :12]
    for audio, window, kept in zip(INFERENCE.encode(mel, positions), mel, positions, strict=True):
        assert_close(audio.array, TWIN.encode(window, kept))


@pytest.mark.parametrize("positions", [[[0, 1]], [[0, 1, 1]], [[0, 1, 20]], [[-1, 0, 1]], [0, 1, 2]])
def test_positions_that_cannot_be_are_refused(positions: list[object]) -> None:
    with pytest.raises(ValueError, match="expected positions"):
        INFERENCE.encode(MEL[:1, :, :6], positions)


@pytest.mark.parametrize(
    "checkpoint",
    [
        random_checkpoint(tiny_dims(n_state=128, n_head=2), seed=1),
        random_checkpoint(tiny_dims(n_state=48, n_head=4), seed=2),
        random_checkpoint(tiny_dims(n_mels=128, n_vocab=51866), seed=3),
        random_checkpoint(seed=4, dtype=np.float16),
    ],
    ids=["heads of 64", "heads of 12", "large-v3's mels and vocabulary", "float16 weights"],
)
def test_other_models_equal_the_twin(checkpoint: Checkpoint) -> None:
    inference = OpenVINOInference(checkpoint, precision="float32", threads=1)
    twin = NumpyWhisper(checkpoint)
    mel = random_mel(checkpoint.dims, n_audio=2)
    audios = inference.encode(mel)
    for audio, window in zip(audios, mel, strict=True):
        assert_close(audio.array, twin.encode(window))
    check = TwinChecker(inference.start(), twin, audios)
    check.forward([PlannedRow((1, 2, 3), None, 0), PlannedRow((checkpoint.dims.n_vocab - 1,), None, 1)])
    check.forward([PlannedRow((9,), 1, 1), PlannedRow((8,), 0, 0), PlannedRow((7,), 0, 0)])


@settings(max_examples=25, deadline=None)
@given(plan=plans(n_audio=3, n_vocab=DIMS.n_vocab))
def test_any_history_of_rows_equals_the_twin(audios: list[AudioFeatures], plan: Plan) -> None:
    check = checker(audios)
    for call in plan:
        check.forward(call)


def test_rows_of_audios_may_be_unequal_in_number_and_in_any_order(audios: list[AudioFeatures]) -> None:
    check = checker(audios)
    check.forward([PlannedRow((token,), None, audio) for token, audio in enumerate([2, 0, 2, 1, 2, 0])])
    check.forward([PlannedRow((5,), source, audio) for source, audio in [(4, 2), (3, 1), (1, 0), (0, 2)]])


def test_the_set_of_audios_may_change_between_calls(audios: list[AudioFeatures]) -> None:
    check = checker(audios)
    check.forward([PlannedRow((1, 2), None, 0), PlannedRow((3,), None, 1)])
    check.forward([PlannedRow((4,), 1, 1)])  # audio 0 leaves
    check.forward([PlannedRow((5,), 0, 1), PlannedRow((6, 7), None, 2)])  # audio 2 joins
    check.forward([PlannedRow((8,), 1, 2), PlannedRow((9,), None, 0), PlannedRow((9,), 0, 1)])  # the whole batch


def test_audios_that_nobody_listens_to_are_left_out_after_a_while(
    audios: list[AudioFeatures], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once would copy what is in use whenever one ends; never would let a step cost what the first one did."""
    gathered = []
    gather = Audience.gather
    monkeypatch.setattr(Audience, "gather", lambda wanted: gathered.append(len(wanted)) or gather(wanted))
    check = checker(audios)
    check.forward([PlannedRow((1,), None, audio) for audio in range(3)])
    check.forward([PlannedRow((2,), 2, 2), PlannedRow((3,), 2, 2)])
    for step in range(18):
        check.forward([PlannedRow((step,), 1, 2), PlannedRow((step + 1,), 0, 2)])
    assert gathered == [3, 1]


def test_audios_of_different_batches_go_together() -> None:
    audios = [*INFERENCE.encode(MEL[2:]), *INFERENCE.encode(MEL[:2])]
    check = checker(audios)
    check.forward([PlannedRow((1, 2), None, 0), PlannedRow((3,), None, 1)])
    check.forward([PlannedRow((4,), 1, 1), PlannedRow((4,), 0, 0)])


def test_a_session_may_begin_again_with_more_rows(audios: list[AudioFeatures]) -> None:
    """The plug-in's own reset of the cache gives NaN in the rows that are new."""
    check = checker(audios)
    check.forward([PlannedRow((1, 2), None, 0)])
    check.forward([PlannedRow((token,), None, 0) for token in range(6)])
    check.forward([PlannedRow((token,), token, 0) for token in range(6)])


def test_a_batch_equals_singles(audios: list[AudioFeatures]) -> None:
    prompts = [(1, 2, 3, 4), (5,), (6, 7)]
    together = INFERENCE.start().forward([Row(a, p) for a, p in zip(audios, prompts, strict=True)])
    for index, prompt in enumerate(prompts):
        (alone,) = INFERENCE.encode(MEL[index : index + 1])
        assert_close(together[index], INFERENCE.start().forward([Row(alone, prompt)])[0], 1e-5)


def test_cached_equals_uncached_when_the_audio_is_longer_than_the_text() -> None:
    """B47: an offset taken from the cross-attention entry of the cache would leave the table of positions."""
    checkpoint = random_checkpoint(tiny_dims(n_audio_ctx=100), seed=5)
    inference = OpenVINOInference(checkpoint, precision="float32", threads=1)
    for order in (0, 1), (1, 0):
        audios = inference.encode(random_mel(checkpoint.dims, n_audio=2))
        session = inference.start()
        texts: dict[int, tuple[int, ...]] = dict.fromkeys(order, (1, 2))
        logits = session.forward([Row(audios[audio], texts[audio]) for audio in order])
        for _ in range(10):
            best = {audio: int(logits[line, -1].argmax()) for line, audio in enumerate(order)}
            texts = {audio: (*texts[audio], best[audio]) for audio in order}
            rows = [Row(audios[audio], (best[audio],), line) for line, audio in enumerate(order)]
            logits = session.forward(rows)
            uncached = inference.start().forward([Row(audios[audio], texts[audio]) for audio in order])
            assert_close(logits, uncached, 1e-5)


def test_beam_search_is_the_same_with_and_without_cache() -> None:
    """B48: a reorder that is skipped or done in part would give plausible but different text."""
    checkpoint = random_checkpoint(tiny_dims(n_text_ctx=40), seed=6)
    inference = OpenVINOInference(checkpoint, precision="float32", threads=1)
    (audio,) = inference.encode(random_mel(checkpoint.dims))
    cached = _beam_search(inference, audio, is_cached=True)
    uncached = _beam_search(inference, audio, is_cached=False)
    assert [text for text, _ in cached] == [text for text, _ in uncached]
    np.testing.assert_allclose([s for _, s in cached], [s for _, s in uncached], atol=1e-3)


def _beam_search(
    inference: OpenVINOInference, audio: AudioFeatures, *, is_cached: bool
) -> list[tuple[tuple[int, ...], float]]:
    """Four beams, thirty steps, no end token: texts with their sums of log-probabilities."""
    beams: list[tuple[tuple[int, ...], float]] = [((1,), 0.0)]
    sources: list[int | None] = [None]
    session = inference.start()
    for _ in range(30):
        if is_cached:
            new = [text if source is None else text[-1:] for (text, _), source in zip(beams, sources, strict=True)]
            logits = session.forward([Row(audio, t, s) for t, s in zip(new, sources, strict=True)])
        else:
            logits = inference.start().forward([Row(audio, text) for text, _ in beams])
        logprobs = logits[:, 0] - np.logaddexp.reduce(logits[:, 0].astype(np.float64), axis=-1)[:, None]
        scores = logprobs + np.array([[score] for _, score in beams])
        best = np.argsort(-scores, axis=None, kind="stable")[:4]
        sources = [int(flat) // DIMS.n_vocab for flat in best]
        beams = [
            ((*beams[flat // DIMS.n_vocab][0], int(flat) % DIMS.n_vocab), float(scores.flat[flat])) for flat in best
        ]
    return beams


def test_wrapped_features_equal_encoded_ones(audios: list[AudioFeatures]) -> None:
    wrapped = INFERENCE.wrap(np.stack([audio.array for audio in audios]))
    rows = [(1, 2), (3, 4), (5, 6)]
    expected = INFERENCE.start().forward([Row(a, t) for a, t in zip(audios, rows, strict=True)])
    got = INFERENCE.start().forward([Row(a, t) for a, t in zip(wrapped, rows, strict=True)])
    np.testing.assert_array_equal(got, expected)


def test_wrapped_features_are_not_those_of_the_caller(audios: list[AudioFeatures]) -> None:
    features = np.stack([audios[0].array])
    (wrapped,) = INFERENCE.wrap(features)
    features[:] = 0
    np.testing.assert_array_equal(wrapped.array, audios[0].array)


@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 0.05), ("int8", 0.1), ("auto", 0.1)])
def test_lower_precisions_are_close(precision: str, tolerance: float) -> None:
    try:
        inference = OpenVINOInference(CHECKPOINT, precision=precision, threads=1)
    except BackendError as error:
        pytest.skip(str(error))
    audios = inference.encode(MEL)
    for audio, window in zip(audios, MEL, strict=True):
        assert_close(audio.array, TWIN.encode(window), tolerance)
    check = TwinChecker(inference.start(), TWIN, audios, tolerance)
    check.forward([PlannedRow((1, 2, 3), None, 0), PlannedRow((4,), None, 1)])
    check.forward([PlannedRow((5,), 1, 1), PlannedRow((6, 7), None, 2), PlannedRow((8,), 0, 0)])  # a compact copy
    check.forward([PlannedRow((9,), 1, 2)])


def test_logits_are_of_float32_and_may_be_changed_in_place(audios: list[AudioFeatures]) -> None:
    session = INFERENCE.start()
    logits = session.forward([Row(audios[0], (1, 2))])
    assert logits.shape == (1, 1, DIMS.n_vocab)
    assert logits.dtype == np.float32
    logits[:] = -np.inf
    logits = session.forward([Row(audios[0], (3,), 0)])
    assert_close(logits[0, 0], TWIN.logits((1, 2, 3), audios[0].array)[-1])


def test_a_refused_call_leaves_the_session_as_it_was(audios: list[AudioFeatures]) -> None:
    check = checker(audios)
    check.forward([PlannedRow((1, 2), None, 0)])
    with pytest.raises(ValueError, match="text context holds 24"):
        check.session.forward([Row(audios[0], tuple(range(23)), 0)])
    check.forward([PlannedRow((3,), 0, 0)])


def test_sessions_do_not_disturb_each_other(audios: list[AudioFeatures]) -> None:
    one, two = checker(audios), checker(audios)
    one.forward([PlannedRow((1, 2), None, 0)])
    two.forward([PlannedRow((3,), None, 1), PlannedRow((4,), None, 2)])
    one.forward([PlannedRow((5,), 0, 0)])
    two.forward([PlannedRow((6,), 1, 2)])


def test_threads_share_a_model_that_is_compiled_once() -> None:
    inference = OpenVINOInference(CHECKPOINT, precision="float32", threads=1)

    def run(audio: int) -> None:
        check = TwinChecker(inference.start(), TWIN, inference.encode(MEL))
        check.forward([PlannedRow((1, 2), None, audio)])
        for token in range(5):
            check.forward([PlannedRow((token,), 0, audio)])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))


def test_a_closed_session_refuses_work(audios: list[AudioFeatures]) -> None:
    session = INFERENCE.start()
    session.forward([Row(audios[0], (1,))])
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.forward([Row(audios[0], (1,), 0)])


def test_no_windows_give_no_features() -> None:
    assert INFERENCE.encode(MEL[:0]) == []


@pytest.mark.parametrize("shape", [(80, 40), (1, 79, 40), (1, 80, 41), (1, 80, 0), (1, 128, 40)])
def test_mel_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(n_audio, 80, 1 … 40\)"):
        INFERENCE.encode(np.zeros(shape, np.float32))


@pytest.mark.parametrize("shape", [(20, 64), (1, 20, 63), (1, 21, 64), (1, 0, 64)])
def test_features_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(n_audio, 1 … 20, 64\)"):
        INFERENCE.wrap(np.zeros(shape, np.float32))


def test_windows_of_different_lengths_are_refused_in_one_call(audios: list[AudioFeatures]) -> None:
    (short,) = INFERENCE.encode(MEL[:1, :, :20])
    with pytest.raises(ValueError, match=r"different lengths, \[10, 20\] positions"):
        INFERENCE.start().forward([Row(audios[0], (1,)), Row(short, (1,))])


def test_audio_of_another_engine_is_refused() -> None:
    class Foreign:
        array = np.zeros((20, 64), np.float32)

    with pytest.raises(ValueError, match="got Foreign"):
        INFERENCE.start().forward([Row(Foreign(), (1,))])


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_below_one_is_refused(threads: int) -> None:
    with pytest.raises(OptionError, match="threads"):
        OpenVINOInference(CHECKPOINT, threads=threads)


def test_a_missing_openvino_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("sasayaki.inference.openvino")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(BackendError, match="pip install openvino"):
        importlib.import_module("sasayaki.inference.openvino_backend")


@pytest.mark.parametrize("n_vocab", [None, 51866], ids=["a small vocabulary", "large-v3's"])
def test_digests_say_what_the_logits_are(n_vocab: int | None) -> None:
    dims = DIMS if n_vocab is None else tiny_dims(n_vocab=n_vocab)
    inference = OpenVINOInference(random_checkpoint(dims), precision="float32", threads=1)
    (audio,) = inference.encode(MEL[:1])
    session = inference.start()
    logits = session.forward([Row(audio, (1, 2, 3), read=(0, -1)), Row(audio, (4,))])
    assert isinstance(session, DigestingSession)
    found, expected = session.digest(), digest_of(logits)
    assert_close(found.norms, expected.norms)
    assert found.logits.tolist() == expected.logits.tolist()
    assert np.take_along_axis(logits, found.tokens.astype(np.int64), -1).tolist() == found.logits.tolist()
    assert logits.shape[-1] == dims.n_vocab
