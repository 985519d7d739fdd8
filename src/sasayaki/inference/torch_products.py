"""Products of the PyTorch engine: `linear` and attention, the way round that is fast where it runs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW_ROWS = 64
"""Up to as many rows, products on a CPU are computed another way than PyTorch does."""


class Linear(nn.Linear):  # type: ignore[misc]
    """`nn.Linear` by `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Map `x` (…, in_features) to (…, out_features)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`, (…, n_in) to (…, n_out) with `weight` (n_out, n_in).

    Few rows of float32 on a CPU go through MKL as columns, and never as a single one: a decoder step is bound by
    reading weights, and that way they are read two to three times as fast.
    """
    n_rows = x.shape[:-1].numel()
    if x.device.type != "cpu" or x.dtype != torch.float32 or n_rows > FEW_ROWS:
        return F.linear(x, weight, bias)
    rows = x.reshape(n_rows, x.shape[-1])
    columns = (F.pad(rows, (0, 0, 0, 1)) if n_rows == 1 else rows).T
    product = weight @ columns if bias is None else torch.addmm(bias[:, None], weight, columns)
    return product[:, :n_rows].T.contiguous().view(*x.shape[:-1], len(weight))


def attend_to_audio(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """`F.scaled_dot_product_attention` with an additive mask, (n_batch, n_head, n_queries, head_dim).

    On a CPU few queries are multiplied out: PyTorch's own kernel takes up to five times as long for them in bfloat16.
    Not for keys that grow with each step: for each new shape oneDNN would make, and keep, a kernel.
    """
    if q.device.type != "cpu" or q.shape[-2] > FEW_ROWS:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask
    return scores.softmax(dim=-1, dtype=torch.float32).to(v.dtype) @ v
