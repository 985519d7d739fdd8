"""From recordings to the log-mel spectrograms that the models take."""

from sasayaki.audio.constants import (
    CHUNK_LENGTH,
    FRAMES_PER_SECOND,
    HOP_LENGTH,
    N_FFT,
    N_FRAMES,
    N_SAMPLES,
    N_SAMPLES_PER_TOKEN,
    SAMPLE_RATE,
    TOKENS_PER_SECOND,
)
from sasayaki.audio.load import AudioSource, decode_blocks, load_audio
from sasayaki.audio.mel import LogMel, log_mel_spectrogram, mel_filters
from sasayaki.audio.samples import Samples, open_samples
from sasayaki.audio.waveform import Waveform, as_waveform, pad_or_trim

__all__ = [
    "CHUNK_LENGTH",
    "FRAMES_PER_SECOND",
    "HOP_LENGTH",
    "N_FFT",
    "N_FRAMES",
    "N_SAMPLES",
    "N_SAMPLES_PER_TOKEN",
    "SAMPLE_RATE",
    "TOKENS_PER_SECOND",
    "AudioSource",
    "LogMel",
    "Samples",
    "Waveform",
    "as_waveform",
    "decode_blocks",
    "load_audio",
    "log_mel_spectrogram",
    "mel_filters",
    "open_samples",
    "pad_or_trim",
]
