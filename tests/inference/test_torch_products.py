"""Products by way of columns and attention multiplied out, against PyTorch's own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from sasayaki.inference.torch_products import FEW_ROWS, Linear, attend_to_audio, linear


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (5, 1), (2, 3), (FEW_ROWS,), (FEW_ROWS + 1,)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_linear_equals_pytorch(shape: tuple[int, ...], has_bias: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(*shape, 12), torch.randn(7, 12), torch.randn(7) if has_bias else None
    found = linear(x, weight, bias)
    torch.testing.assert_close(found, F.linear(x, weight, bias))
    assert found.is_contiguous()


def test_gradients_pass_through_linear() -> None:
    layer = Linear(12, 7)
    layer(torch.ones(1, 12)).sum().backward()
    torch.testing.assert_close(layer.weight.grad, torch.ones(7, 12))
    torch.testing.assert_close(layer.bias.grad, torch.ones(7))


@pytest.mark.parametrize("n_queries", [1, 5, FEW_ROWS + 1])
@pytest.mark.parametrize("is_masked", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.02), (torch.float16, 3e-3)])
def test_attention_equals_pytorch(n_queries: int, is_masked: bool, dtype: torch.dtype, tolerance: float) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, n, 8).to(dtype) for n in (n_queries, 20, 20))
    mask = torch.zeros(2, 1, 1, 20, dtype=dtype)
    mask[1, ..., 13:] = -torch.inf
    expected = F.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), attn_mask=mask.float() if is_masked else None
    )
    found = attend_to_audio(q, k, v, mask if is_masked else None)
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), expected, atol=tolerance, rtol=tolerance)
