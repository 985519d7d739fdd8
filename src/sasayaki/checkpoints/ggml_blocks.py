"""Widens ggml's quantised tensors to float32.

Values come in blocks of 32. A block is a float16 scale d, in some types a float16 minimum m, in 5-bit types
the fifth bits of its values, then the values: value i in the low and value i + 16 in the high half of byte i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = 32
"""Values in a block."""


@dataclass(frozen=True, slots=True)
class BlockType:
    """One of ggml's quantised types.

    Attributes:
        n_bits: bits of a value: 4, 5 or 8.
        has_minimum: values are q · d + m with q from 0 on; otherwise (q - 2^(n_bits - 1)) · d, where 8 bits
            are stored as signed bytes.
    """

    n_bits: int
    has_minimum: bool

    @property
    def layout(self) -> np.dtype[np.void]:
        """The bytes of a block."""
        fields: list[tuple[Any, ...]] = [("d", "<f2")]
        if self.has_minimum:
            fields.append(("m", "<f2"))
        if self.n_bits == 5:
            fields.append(("fifth_bits", "<u4"))
        fields.append(("q", "i1", BLOCK) if self.n_bits == 8 else ("q", "u1", BLOCK // 2))
        return np.dtype(fields)


# By ggml's number of the type.
BLOCK_TYPES = {
    2: BlockType(4, has_minimum=False),
    3: BlockType(4, has_minimum=True),
    6: BlockType(5, has_minimum=False),
    7: BlockType(5, has_minimum=True),
    8: BlockType(8, has_minimum=False),
}


def dequantise(kind: BlockType, data: memoryview) -> npt.NDArray[np.float32]:
    """The values of whole blocks, float32 (n_blocks * 32)."""
    blocks = np.frombuffer(data, kind.layout)
    quants = blocks["q"]
    if kind.n_bits < 8:
        quants = np.concatenate([quants & 15, quants >> 4], axis=1)
    if kind.n_bits == 5:
        bits = np.arange(BLOCK, dtype=np.uint32)
        quants |= ((blocks["fifth_bits"][:, None] >> bits & 1) << 4).astype(np.uint8)
    values = quants.astype(np.float32)
    if not kind.has_minimum and kind.n_bits < 8:
        values -= np.float32(1 << (kind.n_bits - 1))
    with np.errstate(all="ignore"):  # damaged scales may be infinite or not a number
        values *= blocks["d"].astype(np.float32)[:, None]
        if kind.has_minimum:
            values += blocks["m"].astype(np.float32)[:, None]
    return values.reshape(-1)
