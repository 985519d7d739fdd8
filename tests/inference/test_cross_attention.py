"""Cross-attention of chosen heads: both engines give the same, and what the definition says."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.inference.base import AlignmentInference, Inference
from sasayaki.inference.openvino_backend import OpenVINOInference
from tests.models import random_checkpoint, random_mel

TOKENS = (3, 1, 4, 1, 5)
HEADS = ((1, 1), (0, 0), (1, 0))


@pytest.fixture(scope="module")
def openvino() -> OpenVINOInference:
    return OpenVINOInference(random_checkpoint(), precision="float32", threads=1)


def attention(engine: Inference, window: int = 0, heads: tuple[tuple[int, int], ...] = HEADS) -> np.ndarray:
    assert isinstance(engine, AlignmentInference)
    audio = engine.encode(random_mel(engine.dims, 2))[window]
    return np.asarray(engine.cross_attention(audio, TOKENS, heads))


def test_weights_have_one_row_for_each_head_and_token_and_sum_to_one(openvino: OpenVINOInference) -> None:
    weights = attention(openvino)
    assert weights.shape == (len(HEADS), len(TOKENS), openvino.dims.n_audio_ctx)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_engines_agree(openvino: OpenVINOInference) -> None:
    torch_backend = pytest.importorskip("sasayaki.inference.torch_backend")
    other = torch_backend.TorchInference(random_checkpoint(), device="cpu")
    for window in (0, 1):
        np.testing.assert_allclose(attention(openvino, window), attention(other, window), atol=1e-5)


def test_weights_are_those_of_the_heads_in_the_order_asked_for(openvino: OpenVINOInference) -> None:
    alone = [attention(openvino, heads=(head,))[0] for head in HEADS]
    np.testing.assert_allclose(attention(openvino), np.stack(alone), atol=1e-6)


def test_tokens_see_only_what_comes_before_them(openvino: OpenVINOInference) -> None:
    audio = openvino.encode(random_mel(openvino.dims))[0]
    whole = openvino.cross_attention(audio, TOKENS, HEADS)
    head = openvino.cross_attention(audio, TOKENS[:2], HEADS)
    np.testing.assert_allclose(whole[:, :2], head, atol=1e-5)


def test_more_tokens_than_fit_are_refused(openvino: OpenVINOInference) -> None:
    audio = openvino.encode(random_mel(openvino.dims))[0]
    with pytest.raises(ValueError, match="tokens"):
        openvino.cross_attention(audio, (1,) * (openvino.dims.n_text_ctx + 1), HEADS)
