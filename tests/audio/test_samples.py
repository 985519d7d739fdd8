"""Samples of a recording read by ranges: the same as when it is read as a whole, and nothing left behind."""

from __future__ import annotations

import gc
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sasayaki.audio import load_audio, open_samples
from sasayaki.audio import samples as samples_module
from sasayaki.audio.samples import StoredSamples
from sasayaki.errors import AudioError
from tests.scripted_model import tone, wav

CLIP = Path(__file__).parents[1] / "data" / "en_fox.ogg"


class Pipe(io.RawIOBase):
    """A file object that cannot go back."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)


@pytest.mark.parametrize("limit", [0, 1000, 10**9], ids=["on disk", "first in memory", "in memory"])
@pytest.mark.parametrize("kind", ["path", "str", "bytes", "file", "pipe", "array", "list"])
def test_any_range_of_any_source_is_what_loading_gives(kind: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples_module, "_IN_MEMORY", limit)
    expected, data = load_audio(CLIP), CLIP.read_bytes()
    sources: dict[str, Any] = {"path": CLIP, "str": str(CLIP), "bytes": data, "file": io.BytesIO(data)}
    sources |= {"pipe": Pipe(data), "array": expected, "list": expected.tolist()}
    (samples,) = open_samples(sources[kind])
    try:
        assert samples.n_samples == len(expected)
        for first, last in ((0, len(expected)), (5, 5), (0, 1), (20001, 30000), (7, 20001), (len(expected) - 3, None)):
            part = samples.read(first, len(expected) if last is None else last)
            assert part.dtype == np.float32
            np.testing.assert_array_equal(part, expected[first:last])
    finally:
        samples.close()
        samples.close()


def test_what_was_appended_after_reading_comes_at_the_end() -> None:
    samples = StoredSamples()
    for block in ([1, 2, 3], [], [4], [5, 6]):
        samples.append(np.array(block, np.int16))
        samples.read(0, min(1, samples.n_samples))
    assert (samples.read(1, 6) * 32768).tolist() == [2, 3, 4, 5, 6]
    samples.close()


def test_what_ends_the_reading_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples_module, "_IN_MEMORY", 1)
    made: list[StoredSamples] = []

    class Watched(StoredSamples):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    def stop() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(samples_module, "StoredSamples", Watched)
    with pytest.raises(KeyboardInterrupt):
        open_samples(CLIP, check=stop)
    with pytest.raises(AudioError):
        open_samples(b"no audio")
    assert [samples._file.closed for samples in made] == [True]


@pytest.mark.parametrize("kind", ["path", "bytes", "array"])
def test_channels_that_are_split_are_what_each_is_alone(kind: str) -> None:
    left, right = tone("low", 3), tone("high", 3)
    stereo = wav(left, right)
    source: Any = {"path": stereo, "bytes": stereo, "array": np.stack([left, right])}[kind]
    channels = open_samples(source, split=True)
    assert [channel.n_samples for channel in channels] == [48000, 48000]
    for channel, expected in zip(channels, (left, right), strict=True):
        np.testing.assert_allclose(channel.read(0, 48000), expected, atol=1e-4)
        channel.close()


def test_a_recording_of_one_channel_splits_into_one() -> None:
    for source in (CLIP.with_name("en_jfk.mp3"), load_audio(CLIP)):
        (channel,) = open_samples(source, split=True)
        assert channel.n_samples > 16000
        channel.close()


def test_samples_that_are_dropped_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclosed file would be a ResourceWarning, which fails the tests."""
    monkeypatch.setattr(samples_module, "_IN_MEMORY", 1)
    file = (samples := open_samples(CLIP))[0]._file  # type: ignore[attr-defined]
    del samples
    gc.collect()
    assert file.closed


def test_threads_may_read_at_once() -> None:
    """A journal's checksum is computed while the mel of the next window is."""
    samples = StoredSamples()
    samples.append(np.arange(20000).astype(np.int16))

    def read(first: int) -> bool:
        found = samples.read(first, first + 50)
        return bool((found == np.arange(first, first + 50, dtype=np.float32) / 32768).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(0, 19000, 5)))
    samples.close()
