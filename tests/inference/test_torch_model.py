"""The PyTorch modules against the NumPy twin, openai's names, and the hook cache against no cache."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
import torch

from sasayaki.checkpoints.names import Checkpoint, ModelDimensions, canonical_shapes
from sasayaki.inference.torch_model import KVCache, Whisper, kv_cache
from tests.models import random_checkpoint, random_mel, tiny_dims
from tests.reference.numpy_whisper import NumpyWhisper

TOKENS = (5, 9, 2, 40, 7, 7, 13)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small are many times slower when cores share the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def build(checkpoint: Checkpoint) -> Whisper:
    with torch.device("meta"):
        model = Whisper(checkpoint.dims)
    model.load_state_dict({n: torch.tensor(w) for n, w in checkpoint.weights.items()}, assign=True)
    return model.requires_grad_(False)


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return random_checkpoint()


@pytest.fixture
def model(checkpoint: Checkpoint) -> Whisper:
    return build(checkpoint)


@pytest.fixture
def features(model: Whisper) -> torch.Tensor:
    return model.embed_audio(torch.tensor(random_mel(model.dims)))


def assert_close(actual: object, expected: object) -> None:
    expected = np.asarray(expected)
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def count_hooks(model: Whisper) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def put_in_order(cache: KVCache, projections: Iterable[torch.nn.Module]) -> None:
    entries = {projection: cache[projection] for projection in projections}
    cache.clear()
    cache.update(entries)


@pytest.mark.parametrize("dims", [tiny_dims(), tiny_dims(n_mels=128, n_vocab=51866, n_layer=3)])
def test_state_dict_has_the_canonical_names_and_shapes(dims: ModelDimensions) -> None:
    shapes = {name: tuple(tensor.shape) for name, tensor in Whisper(dims).state_dict().items()}
    assert shapes == canonical_shapes(dims)


def test_encoder_positions_are_there_without_a_checkpoint() -> None:
    positions = Whisper(tiny_dims(n_state=8)).encoder.positional_embedding
    assert_close(positions[0], [0, 0, 0, 0, 1, 1, 1, 1])
    assert_close(positions[3, :4], np.sin(3 * 10000.0 ** (-np.arange(4) / 3)))


def test_logits_equal_the_numpy_twin(checkpoint: Checkpoint, model: Whisper) -> None:
    twin, mel = NumpyWhisper(checkpoint), random_mel(checkpoint.dims)
    expected = twin.logits(TOKENS, twin.encode(mel[0]))
    assert_close(model(torch.tensor(mel), torch.tensor([TOKENS]))[0], expected)


def test_shape_of_large_v3_works() -> None:
    dims = tiny_dims(n_mels=128, n_vocab=51866, n_state=16)
    checkpoint = random_checkpoint(dims)
    model, mel = build(checkpoint), random_mel(dims)
    assert model.is_multilingual
    assert model.num_languages == 100
    twin, tokens = NumpyWhisper(checkpoint), (50258, 50259, 51865)
    assert_close(model(torch.tensor(mel), torch.tensor([tokens]))[0], twin.logits(tokens, twin.encode(mel[0])))


@pytest.mark.parametrize("n_frames", [1, 7, 24])
def test_short_windows_take_the_first_positions(checkpoint: Checkpoint, model: Whisper, n_frames: int) -> None:
    mel = random_mel(checkpoint.dims, n_frames=n_frames)
    assert_close(model.embed_audio(torch.tensor(mel))[0], NumpyWhisper(checkpoint).encode(mel[0]))


@pytest.mark.parametrize("shape", [(80, 40), (1, 79, 40), (1, 80, 41), (1, 80, 0)])
def test_mel_of_a_wrong_shape_is_refused(model: Whisper, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected log-mel windows"):
        model.embed_audio(torch.zeros(shape))


def test_asking_for_scores_changes_no_logit_and_gives_them_for_every_layer(
    model: Whisper, features: torch.Tensor
) -> None:
    tokens, scores = torch.tensor([TOKENS]), []
    logits = model.logits(tokens, features, cross_qk=scores)
    assert_close(logits, model.logits(tokens, features))
    assert [tuple(qk.shape) for qk in scores] == [(1, 2, len(TOKENS), 20)] * 2

    attn, x = model.decoder.blocks[0].attn, torch.randn(1, 4, 64, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(4, 4, dtype=torch.bool).tril()
    explicit, qk = attn(x, mask=mask, need_qk=True)
    assert_close(explicit, attn(x, mask=mask)[0])
    assert torch.equal(qk.isneginf(), ~mask.expand_as(qk))


@pytest.mark.parametrize("first", [1, 3])
def test_hook_cache_equals_no_cache_with_prompts_and_chunks(model: Whisper, features: torch.Tensor, first: int) -> None:
    expected = model.logits(torch.tensor([TOKENS]), features)
    with kv_cache(model) as cache:
        chunks = [TOKENS[:first], TOKENS[first : first + 2], TOKENS[first + 2 :]]
        parts = [model.decoder(torch.tensor([chunk]), features, kv_cache=cache) for chunk in chunks]
    assert_close(torch.cat(parts, dim=1), expected)


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("is_cross_first", [False, True])
def test_greedy_with_the_hook_cache_equals_without_in_any_order_of_entries(
    checkpoint: Checkpoint, model: Whisper, features: torch.Tensor, is_cross_first: bool, is_reopened: bool
) -> None:
    """B47: the position offset was the length of whichever entry came first, 1500 for cross-attention."""
    blocks = model.decoder.blocks
    own = [projection for block in blocks for projection in (block.attn.key, block.attn.value)]
    cross = [projection for block in blocks for projection in (block.cross_attn.key, block.cross_attn.value)]
    order = cross + own if is_cross_first else own + cross

    unhooked, tokens, new = build(checkpoint), [5, 9], [5, 9]
    cache, hooks = model.install_kv_cache_hooks()
    for _ in range(10):
        actual = model.decoder(torch.tensor([new]), features, kv_cache=cache)[0, -1]
        assert_close(actual, unhooked.logits(torch.tensor([tokens]), features)[0, -1])
        put_in_order(cache, order)
        if is_reopened:
            for hook in hooks:
                hook.remove()
            cache, hooks = model.install_kv_cache_hooks(cache)
        assert list(cache) == order
        new = [int(actual.argmax())]
        tokens += new


def test_a_cache_given_to_begin_with_is_not_changed(model: Whisper, features: torch.Tensor) -> None:
    with kv_cache(model) as cache:
        model.decoder(torch.tensor([TOKENS[:3]]), features, kv_cache=cache)
    lengths = [entry.shape[1] for entry in cache.values()]
    with kv_cache(model, cache) as continued:
        logits = model.decoder(torch.tensor([TOKENS[3:]]), features, kv_cache=continued)
    assert_close(logits, model.logits(torch.tensor([TOKENS]), features)[:, 3:])
    assert [entry.shape[1] for entry in cache.values()] == lengths


def test_context_longer_than_the_model_is_refused(model: Whisper, features: torch.Tensor) -> None:
    n_ctx = model.dims.n_text_ctx
    with pytest.raises(ValueError, match="0 cached and 25 new tokens"):
        model.logits(torch.zeros(1, n_ctx + 1, dtype=torch.int64), features)
    with kv_cache(model) as cache:
        model.decoder(torch.zeros(1, n_ctx, dtype=torch.int64), features, kv_cache=cache)
        with pytest.raises(ValueError, match="24 cached and 1 new tokens"):
            model.decoder(torch.zeros(1, 1, dtype=torch.int64), features, kv_cache=cache)


@pytest.mark.parametrize("raised", [RuntimeError, KeyboardInterrupt])
def test_hooks_are_gone_after_an_exception(checkpoint: Checkpoint, model: Whisper, raised: type[BaseException]) -> None:
    """B44: hooks left behind by an exception filled a dead cache in every later call."""
    mel, tokens = torch.tensor(random_mel(model.dims)), torch.tensor([TOKENS])

    def fail(*_: object) -> None:
        raise raised

    def decode_and_fail() -> None:
        with kv_cache(model) as cache:
            breaker = model.decoder.blocks[1].mlp.register_forward_hook(fail)
            try:
                model.decoder(tokens, model.embed_audio(mel), kv_cache=cache)
            finally:
                breaker.remove()

    before = count_hooks(model)
    for _ in range(2):
        with pytest.raises(raised):
            decode_and_fail()
    assert count_hooks(model) == before
    fresh = build(checkpoint)
    for _ in range(5):
        assert torch.equal(model(mel, tokens), fresh(mel, tokens))


def test_a_model_is_freed_when_dropped_also_after_hooks(checkpoint: Checkpoint) -> None:
    model = build(checkpoint)
    features = model.embed_audio(torch.tensor(random_mel(model.dims)))
    with kv_cache(model) as cache:
        model.decoder(torch.tensor([TOKENS]), features, kv_cache=cache)
    dropped = weakref.ref(model)
    del model, cache
    gc.collect()
    assert dropped() is None
