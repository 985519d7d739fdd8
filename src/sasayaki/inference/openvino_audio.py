"""Encoded audio as the OpenVINO decoder wants it: batches of keys and values, and who listens to them."""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sasayaki.inference.base import AudioFeatures
from sasayaki.inference.openvino_runtime import ov

Tensor = Any

_OWN_MAP = 4 << 20
"""Bytes from which a tensor is outside the heap. That of a process keeps what such blocks leave between others."""


@dataclass(frozen=True, eq=False)
class EncodedBatch:
    """Windows that were encoded together.

    Attributes:
        features: encoder output, (n_audio, n_ctx, n_audio_state) float32.
        cross: keys and values by their names in the graph, each with n_audio as its first axis.
    """

    features: npt.NDArray[np.float32]
    cross: dict[str, Tensor] = field(repr=False)

    def members(self) -> list[OpenVINOFeatures]:
        """A handle for each window."""
        return [OpenVINOFeatures((self, index)) for index in range(len(self.features))]


@dataclass(slots=True, eq=False)
class OpenVINOFeatures:
    """One encoded window: a place in the batch that it was encoded with, or was brought into since.

    Attributes:
        place: the batch, and the number of the window in it.
    """

    place: tuple[EncodedBatch, int]

    @property
    def array(self) -> npt.NDArray[np.float32]:
        """Encoder output, (n_ctx, n_audio_state) float32, a view."""
        batch, index = self.place
        window: npt.NDArray[np.float32] = batch.features[index]
        return window

    def part(self, name: str) -> Tensor:
        """Its keys or values, with a first axis of 1, a view."""
        batch, index = self.place
        return part_of(batch.cross[name], index)


def own(audio: AudioFeatures) -> OpenVINOFeatures:
    """The same, if it is of this engine.

    Raises:
        ValueError: it is of another.
    """
    if not isinstance(audio, OpenVINOFeatures):
        raise ValueError(
            f"expected audio encoded by the OpenVINO engine, got {type(audio).__name__}; "
            "pass its array through wrap() first"
        )
    return audio


@dataclass(frozen=True, slots=True)
class Audience:
    """The windows that the rows of a session listen to, and their keys and values in that order.

    Some may be idle: no row listens to them any more.
    """

    audios: tuple[OpenVINOFeatures, ...]
    cross: dict[str, Tensor]

    @classmethod
    def gather(cls, audios: set[OpenVINOFeatures]) -> Audience:
        """Bring the windows together.

        A whole batch is used as it is. Other sets are copied once, because the plug-in would copy a slice at
        every step; they then live in the copy, so that there are not two of each for long.
        """
        ordered = tuple(sorted(audios, key=lambda audio: (id(audio.place[0]), audio.place[1])))
        batch = ordered[0].place[0]
        if len(ordered) == len(batch.features) and all(audio.place[0] is batch for audio in ordered):
            return cls(ordered, batch.cross)
        lengths = sorted({audio.array.shape[0] for audio in ordered})
        if len(lengths) > 1:
            raise ValueError(
                f"rows of one call listen to windows of different lengths, {lengths} positions; "
                "pad their mel spectrograms to the same number of frames"
            )
        features = np.stack([audio.array for audio in ordered])
        joined = EncodedBatch(features, {name: _compact(ordered, name) for name in batch.cross})
        for index, audio in enumerate(ordered):
            audio.place = (joined, index)
        return cls(ordered, joined.cross)

    def seat(self, rows: Sequence[OpenVINOFeatures]) -> Seating:
        """Give every row a place beside the other rows of its audio."""
        groups: dict[OpenVINOFeatures, list[int]] = {audio: [] for audio in self.audios}
        for row, audio in enumerate(rows):
            groups[audio].append(row)
        n_group = max(len(group) for group in groups.values())
        seats = np.zeros((len(groups), n_group), np.int64)
        places = np.zeros(len(rows), np.int64)
        for line, group in enumerate(groups.values()):
            seats[line] = group + (group[-1:] or [0]) * (n_group - len(group))
            places[group] = line * n_group + np.arange(len(group))
        return Seating(seats, places)


@dataclass(frozen=True, slots=True)
class Seating:
    """Rows grouped by audio.

    Attributes:
        seats: row at each place of each audio, (n_audio, n_group); short groups repeat their last row, and audios
            that no row listens to any more have row 0.
        places: the place of each row in the flattened seats, (n_batch,).
    """

    seats: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]


def _compact(audios: Sequence[OpenVINOFeatures], name: str) -> Tensor:
    """The keys or values of these windows in one new tensor."""
    first = audios[0].part(name)
    shape = list(first.shape)[1:]
    result = empty(first.element_type, [len(audios), *shape])
    for place, audio in enumerate(audios):
        audio.part(name).copy_to(part_of(result, place))
    return result


def empty(element_type: Any, shape: Sequence[int]) -> Tensor:
    """A tensor whose memory, where it is much, goes back to the system with it."""
    n_bytes = math.prod(shape) * element_type.size
    if n_bytes < _OWN_MAP:
        return ov.Tensor(element_type, ov.Shape(shape))
    return ov.Tensor(np.frombuffer(mmap.mmap(-1, n_bytes), np.uint8), ov.Shape(shape), element_type)


def part_of(tensor: Tensor, index: int) -> Tensor:
    """A view of one member of the first axis."""
    rest = list(tensor.shape)[1:]
    return ov.Tensor(tensor, ov.Coordinate([index] + [0] * len(rest)), ov.Coordinate([index + 1, *rest]))
