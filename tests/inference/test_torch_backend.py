"""The PyTorch engine: its ragged cache against no cache, batches against singles, options and errors."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sasayaki.errors import BackendError, CheckpointError, OptionError
from sasayaki.inference.base import AudioFeatures, Row
from sasayaki.inference.torch_backend import TorchInference
from sasayaki.inference.torch_cache import SelfAttentionCache
from sasayaki.inference.torch_model import kv_cache
from sasayaki.model import Whisper
from tests.decoding.scripts import SMALL_ENGLISH
from tests.models import random_checkpoint, random_mel, tiny_dims
from tests.reference.numpy_whisper import NumpyWhisper

CHECKPOINT = random_checkpoint(tiny_dims(n_text_ctx=40))
DIMS = CHECKPOINT.dims
ENGINE = TorchInference(CHECKPOINT, device="cpu")
AUDIOS = ENGINE.encode(random_mel(DIMS, 2)) + ENGINE.encode(random_mel(DIMS, n_frames=26, seed=5))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are many times slower when cores share the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def uncached(tokens: Sequence[int], audio: AudioFeatures) -> torch.Tensor:
    """Logits after each of `tokens` from the plain modules, (n_tokens, n_vocab)."""
    with torch.no_grad():
        return ENGINE.model.logits(torch.tensor([tokens]), audio.array[None])[0]


def assert_close(actual: torch.Tensor, expected: object, tolerance: float = 1e-4) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * np.abs(expected).max())


def read_all(audio: AudioFeatures, tokens: Sequence[int], engine: TorchInference = ENGINE) -> torch.Tensor:
    """Logits after each of `tokens` from a new session, (n_tokens, n_vocab)."""
    return engine.start().forward([Row(audio, tuple(tokens), read=tuple(range(len(tokens))))])[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_equals_the_numpy_twin(dtype: type[np.floating]) -> None:
    checkpoint = random_checkpoint(dtype=dtype)
    engine, twin, mel = TorchInference(checkpoint), NumpyWhisper(checkpoint), random_mel(checkpoint.dims, 2)
    for audio, window in zip(engine.encode(mel), mel, strict=True):
        expected = twin.encode(window)
        assert_close(audio.array, expected)
        assert_close(read_all(audio, (3, 1, 4, 1, 5), engine), twin.logits((3, 1, 4, 1, 5), expected))


def test_shape_of_large_v3_works() -> None:
    dims = tiny_dims(n_mels=128, n_vocab=51866, n_state=16)
    engine = TorchInference(random_checkpoint(dims), device="cpu")
    (audio,) = engine.encode(random_mel(dims))
    session = engine.start()
    session.forward([Row(audio, (50258, 50259, 50360))])
    logits = session.forward([Row(audio, (51865,), source=0)] * 5)
    assert logits.shape == (5, 1, 51866)
    assert_close(logits[4], read_all(audio, (50258, 50259, 50360, 51865), engine)[-1:])


def test_no_cache_hook_cache_and_preallocated_cache_agree() -> None:
    tokens = (7, 3, 90, 14, 14, 2)
    expected = uncached(tokens, AUDIOS[0])
    session = ENGINE.start()
    with torch.no_grad(), kv_cache(ENGINE.model) as cache:
        for i, token in enumerate(tokens):
            hooked = ENGINE.model.decoder(torch.tensor([[token]]), AUDIOS[0].array[None], kv_cache=cache)[0]
            preallocated = session.forward([Row(AUDIOS[0], (token,), source=0 if i else None)])[0]
            assert_close(hooked, expected[i : i + 1])
            assert_close(preallocated, expected[i : i + 1])


@st.composite
def decodes(draw: st.DrawFn) -> list[list[tuple[int | None, int, tuple[int, ...], tuple[int, ...]]]]:
    """Calls of rows (source, audio, tokens, read) that leave, join, double, swap and grow unequally."""
    calls, n_previous = [], 0
    for _ in range(draw(st.integers(1, 6))):
        rows = []
        for _ in range(draw(st.integers(1, 5))):
            source = draw(st.none() | st.integers(0, n_previous - 1)) if n_previous else None
            tokens = tuple(draw(st.lists(st.integers(0, DIMS.n_vocab - 1), min_size=1, max_size=4)))
            positions = st.integers(-len(tokens), len(tokens) - 1)
            read = tuple(draw(st.lists(positions, min_size=1, max_size=3)))
            rows.append((source, draw(st.integers(0, 2)), tokens, read))
        calls.append(rows)
        n_previous = len(rows)
    return calls


@given(decodes())
@settings(max_examples=25, deadline=None)
def test_cached_equals_uncached_whatever_the_rows_do(
    calls: list[list[tuple[int | None, int, tuple[int, ...], tuple[int, ...]]]],
) -> None:
    session, histories = ENGINE.start(), []
    for call in calls:
        previous, histories, rows = histories, [], []
        for source, audio, tokens, read in call:
            audio, past = (audio, ()) if source is None else previous[source]
            histories.append((audio, past + tokens))
            rows.append(Row(AUDIOS[audio], tokens, source, read))
        logits = session.forward(rows)
        for row, (audio, history), actual in zip(rows, histories, logits, strict=True):
            new = uncached(history, AUDIOS[audio])[-len(row.tokens) :]
            padded = row.read + (row.read[-1],) * (len(actual) - len(row.read))
            assert_close(actual, new[list(padded)])


def beam_search(score: Callable[[list[tuple[int, ...]], list[int]], torch.Tensor]) -> list[object]:
    """Beams of 4 for 30 steps over log-probabilities `score(histories, sources)`; (sum, tokens) of each."""
    beams, sources = [(0.0, (7,))], [0]
    for _ in range(30):
        log_probs = score([tokens for _, tokens in beams], sources).log_softmax(dim=-1)
        sums = torch.tensor([[total] for total, _ in beams]) + log_probs
        best = sums.flatten().topk(4)
        sources = [int(i) // DIMS.n_vocab for i in best.indices]
        beams = [
            (float(total), (*beams[source][1], int(i) % DIMS.n_vocab))
            for total, i, source in zip(best.values, best.indices, sources, strict=True)
        ]
    return beams


def test_beam_search_finds_the_same_beams_with_and_without_cache() -> None:
    """B48: a skipped or partial reorder of the cache gave plausible but different text."""
    session, moved = ENGINE.start(), []

    def cached(histories: list[tuple[int, ...]], sources: list[int]) -> torch.Tensor:
        is_first = len(histories[0]) == 1
        moved.append(sources != list(range(len(sources))))
        rows = [
            Row(AUDIOS[0], tokens[-1:], None if is_first else source)
            for tokens, source in zip(histories, sources, strict=True)
        ]
        return session.forward(rows)[:, -1]

    slow = beam_search(lambda histories, _: torch.stack([uncached(h, AUDIOS[0])[-1] for h in histories]))
    fast = beam_search(cached)
    assert sum(moved) > 5  # else the test shows nothing
    assert [tokens for _, tokens in fast] == [tokens for _, tokens in slow]
    assert [total for total, _ in fast] == pytest.approx([total for total, _ in slow], abs=1e-3)


def test_rows_that_stay_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    moves = []
    monkeypatch.setattr(SelfAttentionCache, "move", lambda _, source, target, n: moves.append(target.tolist()))
    session = ENGINE.start()
    session.forward([Row(AUDIOS[0], (1, 2))] * 3)
    session.forward([Row(AUDIOS[0], (1,), source=i) for i in range(3)])
    session.forward([Row(AUDIOS[0], (1,), source=i) for i in (0, 0, 2)])
    assert moves == [[1]]


def test_a_batch_equals_singles() -> None:
    prompts = [(5,), (6, 7, 8, 9), (1, 2)]
    session = ENGINE.start()
    rows = [Row(a, p, read=(0, -1)) for a, p in zip(AUDIOS, prompts, strict=True)]
    batch = session.forward(rows)
    for audio, prompt, actual in zip(AUDIOS, prompts, batch, strict=True):
        assert_close(actual, read_all(audio, prompt)[[0, -1]])

    order = (2, 0, 0, 1, 2, 2)
    batch = session.forward([Row(AUDIOS[i], (10 + n,), source=i) for n, i in enumerate(order)])
    for n, i in enumerate(order):
        assert_close(batch[n], read_all(AUDIOS[i], (*prompts[i], 10 + n))[-1:])


def test_encoding_a_batch_equals_encoding_singles_from_numpy_and_torch() -> None:
    mel = random_mel(DIMS, 3, seed=8)
    mel.flags.writeable = False
    batch = ENGINE.encode(mel)
    for window, audio in zip(mel, batch, strict=True):
        assert_close(ENGINE.encode(torch.tensor(window[None]))[0].array, audio.array)
        wrapped = ENGINE.wrap(audio.array[None].numpy())[0]
        assert torch.equal(read_all(wrapped, (1, 2)), read_all(audio, (1, 2)))


def test_positions_may_be_left_out() -> None:
    positions = [[0, 1, 2, 7, 8, 19], [0, 1, 2, 3, 4, 5]]
    mel = random_mel(DIMS, 2, n_frames=12, seed=9)
    for audio, window, kept in zip(ENGINE.encode(mel, positions), mel, positions, strict=True):
        assert_close(audio.array, NumpyWhisper(CHECKPOINT).encode(window, kept))
    with pytest.raises(ValueError, match="positions that increase"):
        ENGINE.encode(mel[:1], [[0, 1, 2, 2, 3, 4]])


def test_logits_belong_to_the_caller() -> None:
    session = ENGINE.start()
    logits = session.forward([Row(AUDIOS[0], (1, 2))])
    logits[:, :, 3] = -torch.inf
    logits = session.forward([Row(AUDIOS[0], (3,), source=0)])
    assert logits.dtype == torch.float32
    assert_close(logits[0], uncached((1, 2, 3), AUDIOS[0])[-1:])


def test_a_row_may_fill_the_text_context_beside_a_longer_prompt_but_not_pass_it() -> None:
    session, full = ENGINE.start(), tuple(range(DIMS.n_text_ctx))
    session.forward([Row(AUDIOS[0], full[:-1])])
    logits = session.forward([Row(AUDIOS[0], full[-1:], source=0), Row(AUDIOS[1], full[:9])])
    assert_close(logits[0], uncached(full, AUDIOS[0])[-1:])
    assert_close(logits[1], uncached(full[:9], AUDIOS[1])[-1:])
    with pytest.raises(ValueError, match="40"):
        session.forward([Row(AUDIOS[0], (1,), source=0)])
    logits = session.forward([Row(AUDIOS[1], (1,), source=1)])  # a refused call changes nothing
    assert_close(logits[0], uncached((*full[:9], 1), AUDIOS[1])[-1:])


def test_an_exception_in_a_step_leaves_nothing_behind() -> None:
    """B44: what an exception left in the decoder was seen by later decodes."""
    tokens = (4, 8, 15)
    before = [len(module._forward_hooks) for module in ENGINE.model.modules()]
    expected = read_all(AUDIOS[0], tokens)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    breaker = ENGINE.model.decoder.blocks[1].mlp.register_forward_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        read_all(AUDIOS[0], tokens)
    breaker.remove()
    assert [len(module._forward_hooks) for module in ENGINE.model.modules()] == before
    assert torch.equal(read_all(AUDIOS[0], tokens), expected)
    fresh = TorchInference(CHECKPOINT, device="cpu")
    assert torch.equal(read_all(fresh.wrap(AUDIOS[0].array[None])[0], tokens, fresh), expected)


def test_a_closed_session_refuses_and_closes_again() -> None:
    session = ENGINE.start()
    session.forward([Row(AUDIOS[0], (1,))])
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.forward([Row(AUDIOS[0], (1,), source=0)])


def test_audio_of_another_engine_is_refused() -> None:
    other = TorchInference(CHECKPOINT, device="cpu")
    with pytest.raises(ValueError, match="another engine"):
        ENGINE.start().forward([Row(other.encode(random_mel(DIMS))[0], (1,))])


@pytest.mark.parametrize("shape", [(20, 64), (1, 21, 64), (1, 20, 63)])
def test_encoder_outputs_of_a_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected encoder outputs of shape"):
        ENGINE.wrap(np.zeros(shape, np.float32))


@pytest.mark.parametrize(("precision", "tolerance"), [("float16", 0.01), ("bfloat16", 0.08)])
def test_half_precision_is_close(precision: str, tolerance: float) -> None:
    engine = TorchInference(CHECKPOINT, device="cpu", precision=precision)
    (audio,) = engine.encode(random_mel(DIMS, 2)[:1])
    logits = read_all(audio, (1, 2, 3, 4), engine)
    assert audio.array.dtype == getattr(torch, precision)
    assert logits.dtype == torch.float32
    assert_close(logits, uncached((1, 2, 3, 4), AUDIOS[0]), tolerance)


def test_threads_are_set_only_when_given() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        TorchInference(CHECKPOINT, device="cpu")
        assert torch.get_num_threads() == 2
        TorchInference(CHECKPOINT, device="cpu", threads=1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("options", [{"threads": 0}, {"device": "tpu"}, {"device": "cuda:x"}, {"precision": "int8"}])
def test_options_that_cannot_be_used_are_named(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        TorchInference(CHECKPOINT, **options)


def test_the_device_is_told() -> None:
    """`Whisper.device` said `cpu` of a model on a GPU; weights of the meta device have no values, but a place."""
    assert str(ENGINE.device) == "cpu"
    elsewhere = TorchInference(CHECKPOINT, device="cpu")
    elsewhere.model.to("meta")
    assert Whisper(elsewhere, SMALL_ENGLISH).device == "meta"


def test_a_gpu_that_is_not_there_is_an_error() -> None:
    with pytest.raises(BackendError, match="use device='cpu'"):
        TorchInference(CHECKPOINT, device=f"cuda:{torch.cuda.device_count()}")


def test_an_incomplete_checkpoint_is_refused() -> None:
    weights = dict(CHECKPOINT.weights)
    weights["decoder.lnn.bias"] = weights.pop("decoder.ln.bias")
    with pytest.raises(CheckpointError, match=r"(?s)missing: decoder\.ln\.bias.*unexpected: decoder\.lnn"):
        TorchInference(replace(CHECKPOINT, weights=weights), device="cpu")


def test_missing_torch_names_the_command_that_installs_it() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import sasayaki, sasayaki.inference.base\n"
        "from sasayaki.errors import BackendError\n"
        "try:\n    import sasayaki.inference.torch_backend\n"
        "except BackendError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "sasayaki[torch]"' in done.stdout


def test_an_engine_is_freed_when_dropped() -> None:
    engine = TorchInference(random_checkpoint(), device="cpu")
    (audio,) = engine.encode(random_mel(engine.dims))
    session = engine.start()
    session.forward([Row(audio, (1, 2))])
    dropped = weakref.ref(engine.model)
    del engine, audio, session
    gc.collect()
    assert dropped() is None
