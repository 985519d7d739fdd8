"""The PyTorch engine compiled: the same logits, and a clear error where PyTorch cannot compile."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.base import Row
from sasayaki.inference.select import create_inference
from sasayaki.inference.torch_backend import TorchInference
from tests.models import random_checkpoint, random_mel, tiny_dims

CHECKPOINT = random_checkpoint(tiny_dims())


def logits_of(engine: TorchInference) -> list[torch.Tensor]:
    """Of a prompt, and of beams."""
    (audio,) = engine.encode(random_mel(engine.dims))
    session = engine.start()
    return [
        session.forward([Row(audio, (1, 2))] * 2),
        session.forward([Row(audio, (3,), source=1), Row(audio, (4,), source=0)]),
    ]


def test_a_compiled_model_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graphs are captured as for any compiler, but run by PyTorch, as compiling takes a minute."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    compiled = TorchInference(CHECKPOINT, device="cpu", compiled=True)
    plain = TorchInference(CHECKPOINT, device="cpu")
    for found, expected in zip(logits_of(compiled), logits_of(plain), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_compiler_that_is_missing_is_named_when_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> object:
        raise RuntimeError("No working C++ compiler found\nin g++")

    monkeypatch.setattr(torch, "compile", lambda _: fail)
    with pytest.raises(BackendError, match=r"No working C\+\+ compiler found\); install .* or load .* compiled=False"):
        TorchInference(CHECKPOINT, device="cpu", compiled=True)


def test_the_engine_that_always_compiles_refuses_the_option() -> None:
    with pytest.raises(OptionError, match="compiled=True is for PyTorch"):
        create_inference(CHECKPOINT, backend="openvino", compiled=True)
