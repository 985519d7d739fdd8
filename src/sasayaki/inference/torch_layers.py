"""The decoder's layers in pieces between the caches, as they are or compiled by `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sasayaki.errors import BackendError
from sasayaki.inference.torch_model import ResidualAttentionBlock, Whisper


def look_back(block: ResidualAttentionBlock, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value of self-attention, from states `x`; all are (n_batch, n_new, n_state)."""
    h = block.attn_ln(x)
    return block.attn.query(h), *block.attn.keys_and_values(h)


def listen(block: ResidualAttentionBlock, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """The states with what self-attention has seen, and the query of cross-attention."""
    x = x + block.attn.out(seen)
    return x, block.cross_attn.query(block.cross_attn_ln(x))


def conclude(block: ResidualAttentionBlock, x: Tensor, heard: Tensor) -> Tensor:
    """The states with what cross-attention has heard, behind the perceptron."""
    x = x + block.cross_attn.out(heard)
    return x + block.mlp(block.mlp_ln(x))


@dataclass(frozen=True, slots=True)
class Layers:
    """What a model computes: its encoder, and three pieces of every decoder block in turn.

    Together with attention they are `ResidualAttentionBlock.forward`.
    """

    encode: Callable[..., Tensor]
    look_back: Callable[[ResidualAttentionBlock, Tensor], tuple[Tensor, Tensor, Tensor]] = look_back
    listen: Callable[[ResidualAttentionBlock, Tensor, Tensor], tuple[Tensor, Tensor]] = listen
    conclude: Callable[[ResidualAttentionBlock, Tensor, Tensor], Tensor] = conclude

    @classmethod
    def compiled(cls, model: Whisper) -> Layers:
        """The same, each compiled at its first use; blocks of one model share what is compiled.

        Raises:
            BackendError: PyTorch cannot compile here.
        """
        _check_compiler(model.device)
        pieces: list[Any] = [torch.compile(piece, dynamic=True) for piece in (look_back, listen, conclude)]
        return cls(torch.compile(model.embed_audio), *pieces)


def _check_compiler(device: torch.device) -> None:
    """Compile something small, since what is missing shows only then."""
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.zeros(8, device=device))
    except Exception as error:  # what is raised depends on PyTorch's version and on what is missing
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BackendError(
            f"torch.compile does not work here ({reason}); install what it needs, a C++ compiler for a CPU and Triton "
            "for a GPU, or load the model with compiled=False"
        ) from error
