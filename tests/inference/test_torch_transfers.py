"""What a step of the PyTorch engine moves between host and device.

Tensors on PyTorch's `meta` device have no values: whatever reads one fails, as reading a GPU would make the host wait.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from sasayaki.decoding.pool import TaskPool
from sasayaki.decoding.task import DecodingTask
from sasayaki.inference.base import Row
from sasayaki.inference.torch_backend import TorchInference
from sasayaki.inference.torch_cache import TorchFeatures
from sasayaki.options import DecodingOptions
from tests.decoding.scripts import N_VOCAB, SMALL_ENGLISH
from tests.models import random_checkpoint, random_mel, tiny_dims

KINDS: list[dict[str, Any]] = [{"beam_size": 3}, {}, {"temperature": 0.5, "best_of": 2}, {"phrases": {"abc": 2.0}}]


class Transfers(TorchDispatchMode):
    """Notes for each transfer between devices whether the host goes on meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.are_free: list[bool] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        tensors = [x for x in (result, *args[:1]) if isinstance(x, torch.Tensor)]
        if len({x.device for x in tensors}) > 1:
            self.are_free.append(bool((kwargs or {}).get("non_blocking")) or True in args[1:])
        return result


def engine_without_values() -> tuple[TorchInference, list[TorchFeatures]]:
    engine = TorchInference(random_checkpoint(tiny_dims(n_vocab=N_VOCAB, n_text_ctx=40)), device="cpu")
    engine.model.to("meta")
    return engine, [TorchFeatures(torch.empty(n, 64, device="meta"), engine.model) for n in (20, 13)]


def test_a_step_sends_one_array_and_reads_nothing() -> None:
    engine, (audio, other) = engine_without_values()
    session = engine.start()
    with Transfers() as transfers:
        session.forward([Row(audio, (1, 2, 3))])
        session.forward([Row(audio, (1,), source=0)] * 5)
        session.forward([Row(audio, (1,), source=source) for source in (0, 0, 3, 1, 4)])
        assert transfers.are_free == [True] * 3
        session.forward([Row(audio, (1,), source=0), Row(audio, (1,), source=2), Row(other, (1, 2))])
        assert all(transfers.are_free)


def test_filters_and_search_read_nothing_before_all_candidates_are_known() -> None:
    engine, (audio, _) = engine_without_values()
    for options in KINDS:
        task = DecodingTask(
            audio, SMALL_ENGLISH, DecodingOptions(language="en", **options), n_text_ctx=40, n_vocab=N_VOCAB
        )
        with Transfers() as transfers:
            proposal = task.propose(engine.start().forward(task.start()))
        assert all(transfers.are_free)
        assert proposal.tokens.device.type == "meta"
        assert np.prod(proposal.logprobs.shape) > 0


class Reads(TorchFunctionMode):
    """Counts what makes the host wait for values."""

    waiting: ClassVar = {
        getattr(torch.Tensor, name) for name in ("cpu", "item", "tolist", "nonzero", "__bool__", "__int__")
    }

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.n += function in self.waiting
        return function(*args, **(kwargs or {}))


def test_a_step_of_windows_side_by_side_is_read_once() -> None:
    engine = TorchInference(random_checkpoint(tiny_dims(n_vocab=N_VOCAB, n_text_ctx=40)), device="cpu")
    pool = TaskPool(engine)
    for audio, kind in zip(engine.encode(random_mel(engine.dims, len(KINDS))), KINDS, strict=True):
        options = DecodingOptions(language="en", **kind)
        pool.add(DecodingTask(audio, SMALL_ENGLISH, options, n_text_ctx=40, n_vocab=N_VOCAB))
    n_step = 0
    while len(pool):
        with Reads() as reads:
            pool.step()
        assert reads.n == 1
        n_step += 1
    assert n_step > 5
