"""Tests of how rows are seated by audio."""

from __future__ import annotations

import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.inference.openvino_audio import Audience, EncodedBatch
from sasayaki.inference.openvino_runtime import ov

N_AUDIO = 3


def encoded() -> EncodedBatch:
    numbers = np.arange(N_AUDIO * 8, dtype=np.float32)
    keys = ov.Tensor(numbers.reshape(N_AUDIO, 1, 2, 4))
    return EncodedBatch(numbers.reshape(N_AUDIO, 4, 2), {"keys.0": keys})


AUDIOS = encoded().members()


@given(st.lists(st.sampled_from(AUDIOS), min_size=1, max_size=9), st.booleans())
def test_every_row_finds_its_place_beside_the_rows_of_its_audio(rows: list, with_idle: bool) -> None:
    audience = Audience.gather(set(AUDIOS) if with_idle else set(rows))
    seating = audience.seat(rows)
    assert len(seating.seats) == len(audience.audios)
    assert seating.seats.max() < len(rows)
    for row, audio in enumerate(rows):
        assert seating.seats.ravel()[seating.places[row]] == row
        line = seating.places[row] // seating.seats.shape[1]
        assert audience.audios[line] is audio


def test_a_whole_batch_is_used_as_it_is() -> None:
    batch = encoded()
    first, second, third = batch.members()
    audience = Audience.gather({third, first, second})
    assert audience.audios == (first, second, third)
    assert audience.cross is batch.cross


def test_a_part_of_a_batch_is_copied_in_the_order_of_its_audios() -> None:
    batch = encoded()
    _, second, third = batch.members()
    audience = Audience.gather({third, second})
    assert audience.audios == (second, third)
    np.testing.assert_array_equal(audience.cross["keys.0"].data, batch.cross["keys.0"].data[1:])


def test_windows_that_were_brought_together_live_in_the_copy_alone() -> None:
    singles = [encoded().members()[0] for _ in range(3)]
    kept = [(one.array.copy(), one.part("keys.0").data.copy()) for one in singles]
    left = [weakref.ref(one.place[0]) for one in singles]
    audience = Audience.gather(set(singles))
    assert [ref() for ref in left] == [None] * 3
    for one, (features, keys) in zip(singles, kept, strict=True):
        np.testing.assert_array_equal(one.array, features)
        np.testing.assert_array_equal(one.part("keys.0").data, keys)
    assert Audience.gather(set(singles)).cross is audience.cross
