"""Tests of how rows are seated by audio."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sasayaki.inference.openvino_audio import Audience, EncodedBatch
from sasayaki.inference.openvino_runtime import ov

N_AUDIO = 3
BATCH = EncodedBatch(
    np.arange(N_AUDIO * 8, dtype=np.float32).reshape(N_AUDIO, 4, 2),
    {"keys.0": ov.Tensor(np.arange(N_AUDIO * 8, dtype=np.float32).reshape(N_AUDIO, 1, 2, 4))},
)
AUDIOS = BATCH.members()


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
    audience = Audience.gather({AUDIOS[2], AUDIOS[0], AUDIOS[1]})
    assert audience.audios == tuple(AUDIOS)
    assert audience.cross is BATCH.cross


def test_a_part_of_a_batch_is_copied_in_the_order_of_its_audios() -> None:
    audience = Audience.gather({AUDIOS[2], AUDIOS[1]})
    assert audience.audios == (AUDIOS[1], AUDIOS[2])
    np.testing.assert_array_equal(audience.cross["keys.0"].data, BATCH.cross["keys.0"].data[1:])
