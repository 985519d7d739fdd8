"""Keys and values of the PyTorch decoder: a preallocated cache per row, and one projection per audio.

Both classes do attention over what they hold. They move data only when rows do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from sasayaki.inference.torch_model import Whisper, merge_heads
from sasayaki.inference.torch_products import attend_to_audio

Ints = npt.NDArray[np.int64]


def send(arrays: Sequence[Ints], device: torch.device) -> list[Tensor]:
    """Integer arrays as tensors on a device, in one transfer that the host does not wait for."""
    flat = torch.from_numpy(np.concatenate([array.ravel() for array in arrays]))
    if device.type == "cuda":
        flat = flat.pin_memory()
    parts = flat.to(device, non_blocking=True).split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def additive(is_hidden: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask for attention: -inf where hidden, 0 elsewhere."""
    return torch.zeros_like(is_hidden, dtype=dtype).masked_fill_(is_hidden, -torch.inf)


class TorchFeatures:
    """One encoded window on the device of its model; see `sasayaki.inference.base.AudioFeatures`."""

    def __init__(self, array: Tensor, model: Whisper) -> None:
        self.array = array
        self.model = model

    @cached_property
    def keys_and_values(self) -> list[Tensor]:
        """What each layer's cross-attention looks at: (2, n_head, n_ctx, head_dim), keys and then values."""
        layers = [block.cross_attn for block in self.model.decoder.blocks]
        return [torch.cat([layer.split_heads(x) for x in layer.keys_and_values(self.array[None])]) for layer in layers]


class SelfAttentionCache:
    """Keys and values of all living rows; column t of a row holds its token at position t.

    The store is (2, n_layer, n_row_capacity, n_head, n_text_ctx + 1, head_dim). Where a row feeds fewer new
    tokens than others, the padding goes to the last column, which nobody reads. The store begins with zeros:
    masked columns take part with weight 0 and must be finite.
    """

    def __init__(self, model: Whisper) -> None:
        self.spare_column = model.dims.n_text_ctx
        self._n_head = model.dims.n_text_head
        shape = (2, model.dims.n_text_layer, 0, self._n_head, self.spare_column + 1)
        head_dim = model.dims.n_text_state // self._n_head
        self._store = torch.zeros(*shape, head_dim, device=model.device, dtype=model.dtype)

    def reserve(self, n_rows: int) -> None:
        """Make room for `n_rows` rows; those that are there stay."""
        n_more = n_rows - self._store.shape[2]
        if n_more > 0:
            self._store = F.pad(self._store, (0, 0, 0, 0, 0, 0, 0, n_more))

    def move(self, sources: Tensor, targets: Tensor, n_columns: int) -> None:
        """Put copies of rows `sources` at `targets`, all at once, as far as `n_columns`."""
        self._store[:, :, targets, :, :n_columns] = self._store[:, :, sources, :, :n_columns]

    def place(self, positions: Tensor, columns: Tensor, lengths: Ints) -> None:
        """Say where the new tokens of the next `attend` calls go and what they see.

        Args:
            positions: of each new token in its row, (n_batch, n_new); it sees the columns up to that.
            columns: where its key and value go, (n_batch, n_new).
            lengths: of each row, new tokens included, (n_batch,).
        """
        n_batch, n_new = positions.shape
        self._rows = torch.arange(n_batch, device=positions.device)[:, None]
        self._columns, self._n_columns = columns, int(lengths.max())
        self._mask = None
        if n_new > 1 or lengths.min() < self._n_columns:  # else every row sees every column
            is_hidden = torch.arange(self._n_columns, device=positions.device) > positions[:, None, :, None]
            self._mask = additive(is_hidden, self._store.dtype)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Add the new `k` and `v` to a layer and attend from `q`; all are (n_batch, n_new, n_state)."""
        q, k, v = (x.unflatten(-1, (self._n_head, -1)) for x in (q, k, v))
        keys, values = self._store[:, layer]
        keys[self._rows, :, self._columns] = k
        values[self._rows, :, self._columns] = v
        k, v = (x[: len(q), :, : self._n_columns] for x in (keys, values))
        return merge_heads(F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=self._mask))


class CrossAttentionCache:
    """Keys and values of the audios that rows listen to, once per audio however many rows it has.

    The queries of all rows of an audio are folded into one matrix. Audios with fewer rows than others are
    filled up with a copy of some row; what shorter windows lack is masked.
    """

    def __init__(self, model: Whisper) -> None:
        self._n_head = model.dims.n_text_head
        self._audios: tuple[TorchFeatures, ...] = ()
        self._slot_of_row: list[int] = []

    def listen(self, audios: Sequence[TorchFeatures]) -> None:
        """Prepare for rows that listen to `audios`, one each; free when nothing has changed."""
        if set(audios) != set(self._audios):
            self._stack(tuple(dict.fromkeys(audios)))
        self._fold([self._audios.index(audio) for audio in audios])

    def attend(self, layer: int, q: Tensor) -> Tensor:
        """Attend from `q` (n_batch, n_new, n_state) to each row's own audio."""
        if self._gather is not None:
            q = q[self._gather]
        n_audio = len(self._audios)
        folded = q.reshape(n_audio, -1, self._n_head, q.shape[-1] // self._n_head).transpose(1, 2)
        keys, values = self._layers[layer]
        heard = attend_to_audio(folded, keys, values, self._mask)
        heard = merge_heads(heard).reshape(q.shape)
        return heard if self._scatter is None else heard[self._scatter]

    def _stack(self, audios: tuple[TorchFeatures, ...]) -> None:
        """Put the audios' keys and values side by side: per layer (2, n_audio, n_head, n_ctx, head_dim)."""
        lengths = [len(audio.array) for audio in audios]
        n_ctx = max(lengths)
        stacks = zip(*(audio.keys_and_values for audio in audios), strict=True)
        if len(audios) == 1:
            self._layers = [item[:, None] for (item,) in stacks]
        else:
            self._layers = [
                torch.stack([F.pad(item, (0, 0, 0, n_ctx - item.shape[2])) for item in stack], dim=1)
                for stack in stacks
            ]
        self._mask = None
        if min(lengths) < n_ctx:
            device = self._layers[0].device
            (ends,) = send([np.array(lengths)], device)
            is_hidden = torch.arange(n_ctx, device=device) >= ends[:, None, None, None]
            self._mask = additive(is_hidden, self._layers[0].dtype)
        self._audios = audios
        self._slot_of_row = []

    def _fold(self, audio_of_row: list[int]) -> None:
        """Give each row a slot among those of its audio; every audio has as many slots as the busiest one."""
        n_slot = max(audio_of_row.count(audio) for audio in range(len(self._audios)))
        n_taken = [0] * len(self._audios)
        slot_of_row = []
        for audio in audio_of_row:
            slot_of_row.append(audio * n_slot + n_taken[audio])
            n_taken[audio] += 1
        if slot_of_row == self._slot_of_row:
            return
        self._slot_of_row = slot_of_row
        self._gather = self._scatter = None
        n_slots = n_slot * len(self._audios)
        if slot_of_row != list(range(n_slots)):
            row_of_slot = np.zeros(n_slots, np.int64)
            row_of_slot[slot_of_row] = np.arange(len(slot_of_row))
            self._gather, self._scatter = send([row_of_slot, np.array(slot_of_row)], self._layers[0].device)
