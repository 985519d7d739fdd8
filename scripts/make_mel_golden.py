"""Write golden facts with openai/whisper: samples of the log-mel spectrograms of the 16 kHz WAV clips.

Runs where openai-whisper 20250625 is installed; sasayaki is not imported. The clips are lossless at the models'
own rate, so that no decoder or resampler has a part in the facts.

    make_mel_golden.py tests/data tests/golden/mel.json
"""

from __future__ import annotations

import json
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SAMPLE_RATE = 16000
STRIDES = {80: 9, 128: 15}  # every n-th band is kept
FRAME_STRIDE = 97


def read_wav(path: Path) -> npt.NDArray[np.float32] | None:
    """Samples (n_samples,) of a 16-bit mono file at 16 kHz; None for any other file."""
    with wave.open(str(path)) as file:
        if (file.getframerate(), file.getsampwidth(), file.getnchannels()) != (SAMPLE_RATE, 2, 1):
            return None
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    return samples.astype(np.float32) / 32768


def facts(path: Path, samples: npt.NDArray[np.float32]) -> list[dict[str, Any]]:
    """One entry for each number of bands, without and with 30 s of zeros behind the clip."""
    import whisper

    entries = []
    for n_mels, band_stride in STRIDES.items():
        for padding in (0, 30 * SAMPLE_RATE):
            mel = whisper.log_mel_spectrogram(samples, n_mels, padding=padding).numpy()
            entries.append(
                {
                    "file": path.name,
                    "n_mels": n_mels,
                    "padding": padding,
                    "shape": list(mel.shape),
                    "mean": round(float(mel.mean()), 6),
                    "band_stride": band_stride,
                    "frame_stride": FRAME_STRIDE,
                    "values": [[round(float(x), 6) for x in row] for row in mel[::band_stride, ::FRAME_STRIDE]],
                }
            )
    return entries


def main(folder: Path, out: Path) -> None:
    """Write the facts of all fitting clips of a folder."""
    clips = {path: read_wav(path) for path in sorted(folder.glob("*.wav")) if "8-bit" not in path.name}
    entries = [entry for path, samples in clips.items() if samples is not None for entry in facts(path, samples)]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    out.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{len(entries)} entries in {out}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
