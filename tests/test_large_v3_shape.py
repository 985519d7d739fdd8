"""A random model with large-v3's shape (128 mels, 51866 tokens) goes through everything, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from sasayaki.audio import log_mel_spectrogram, pad_or_trim
from sasayaki.inference.select import create_inference
from sasayaki.model import Whisper, from_checkpoint
from tests.models import random_checkpoint, tiny_dims

N_VOCAB, NO_TIMESTAMPS, TIMESTAMP_BEGIN, CANTONESE = 51866, 50364, 50365, 50358


@pytest.fixture(scope="module", params=["openvino", "torch"])
def model(request: pytest.FixtureRequest) -> Whisper:
    dims = tiny_dims(n_mels=128, n_audio_ctx=1500, n_state=16, n_head=2, n_layer=1, n_vocab=N_VOCAB, n_text_ctx=448)
    checkpoint = random_checkpoint(dims)
    inference = create_inference(checkpoint, backend=request.param, precision="float32", threads=1)
    return from_checkpoint(checkpoint, inference, name="large-v3")


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    return np.random.default_rng(0).normal(0, 0.1, 35 * 16000).astype(np.float32)


def test_one_window_of_128_mels_is_decoded_in_every_way(model: Whisper, noise: np.ndarray) -> None:
    mel = log_mel_spectrogram(pad_or_trim(noise), n_mels=128)
    for options in (
        {},
        {"beam_size": 3},
        {"temperature": 0.7, "best_of": 2},
        {"without_timestamps": True, "language": "yue", "prompt": "Before."},
    ):
        result = model.decode(mel, sample_len=12, **options)
        assert 0 < len(result.tokens) <= 12
        assert max(result.tokens) < N_VOCAB
        assert np.isfinite(result.avg_logprob)
        assert (result.tokens[0] >= TIMESTAMP_BEGIN) == ("without_timestamps" not in options)
    assert result.language == "yue"


def test_both_engines_take_a_batch_as_singles(model: Whisper, noise: np.ndarray) -> None:
    mels = np.stack([log_mel_spectrogram(pad_or_trim(noise[shift:]), n_mels=128) for shift in (0, 16000)])
    together = model.decode(mels, beam_size=2, sample_len=8)
    alone = [model.decode(mel, beam_size=2, sample_len=8) for mel in mels]
    assert [result.tokens for result in together] == [result.tokens for result in alone]


def test_cantonese_is_among_the_hundred_languages(model: Whisper, noise: np.ndarray) -> None:
    token, probs = model.detect_language(log_mel_spectrogram(pad_or_trim(noise), n_mels=128))
    assert len(probs) == 100
    assert sum(probs.values()) == pytest.approx(1)
    assert model.tokenizer.to_language_token("yue") == CANTONESE
    assert 50259 <= token <= CANTONESE


def test_a_recording_of_two_windows_is_transcribed(model: Whisper, noise: np.ndarray) -> None:
    result = model.transcribe(noise, sample_len=10, beam_size=2, temperature=(0.0, 0.4), no_speech_threshold=None)
    assert result.duration == 35
    assert all(0 <= segment.start < segment.end <= 35 for segment in result.segments)
    assert model.alignment_heads, "large-v3's alignment heads come from the table"


def test_the_control_tokens_are_those_of_the_larger_vocabulary(model: Whisper) -> None:
    """B115: ids move by one in this vocabulary."""
    assert model.tokenizer.no_timestamps == NO_TIMESTAMPS
    assert model.tokenizer.timestamp_begin == TIMESTAMP_BEGIN
    assert model.tokenizer.sot_prev == 50362
