"""Memory, time and drift of long recordings, as a table: the whole way but for the weights, or with a real model.

    python scripts/measure_long.py 0.1667 1 10                   # hours; a scripted decoder that hears where speech is
    python scripts/measure_long.py 0.1667 1 --model tiny.en      # a real model

The recordings are one clip again and again, with a pause behind each. Every length runs in a process of its own. The
drift is the difference between the end of the last segment and the end of the last clip as the scripted decoder hears
it, or of the last clip itself for a real model.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sasayaki
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.recording import opened
from sasayaki.transcribe.requests import Answer, Decode, Request, WindowResult

ROOT = Path(__file__).resolve().parents[1]
CLIP = ROOT / "tests" / "data" / "en_jfk.mp3"
PAUSE_S = 2.0
RATE = 16000


def write_recording(path: Path, hours: float) -> float:
    """The clip and a pause, repeated; gives the second at which the last clip ends."""
    clip = (sasayaki.load_audio(CLIP) * 32767).astype("<i2")
    turn = np.concatenate([clip, np.zeros(round(PAUSE_S * RATE), "<i2")]).tobytes()
    n_turns = round(hours * 3600 * RATE / (len(turn) // 2))
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        for _ in range(n_turns):
            file.writeframes(turn)
    return n_turns * len(turn) / 2 / RATE - PAUSE_S


@dataclass
class Listener(Driver):
    """Answers from the spectrogram alone: a segment from the first loud frame of each clip to its last."""

    def answer(self, request: Request) -> Answer:
        """The segments of a window."""
        assert isinstance(request, Decode)
        mel = self.recording.window(request.window)[:, : request.window.n_frames]
        loud = np.flatnonzero(mel.max(axis=0) > 0.5)
        runs = np.split(loud, np.flatnonzero(np.diff(loud) > 120) + 1) if len(loud) else []
        begin = self.decoder.tokenizer.timestamp_begin
        tokens: list[int] = []
        for run in runs:
            tokens += [begin + int(run[0]) // 2, *self.decoder.tokenizer.encode(" speech"), begin + int(run[-1]) // 2]
        if runs and runs[-1][-1] > mel.shape[1] - 120:  # the clip goes on in the next window
            tokens = tokens[:-1] if len(runs) > 1 else [*tokens[:-1], begin + mel.shape[1] // 2]
        return DecodingResult(audio_features=None, language="en", tokens=tuple(tokens), avg_logprob=-0.1)


def scripted(path: Path) -> Any:
    """The segments that the listener finds."""
    from sasayaki.text.tokenizer import Tokenizer

    tokenizer = Tokenizer.for_vocab(51864)
    decoder: Any = type("Scripted", (), {"tokenizer": tokenizer})
    options = TranscribeOptions(
        language="en", beam_size=None, temperature=0, condition_on_previous_text=False, vad="off"
    )
    with opened(path, 80) as (recording,):
        work = Assignment(recording.content_frames, options, tokenizer, n_text_ctx=448)
        for window in Listener(decoder, recording).run(transcribe_recording(work, work.begin("en"))):
            assert isinstance(window, WindowResult)
            yield from window.segments
        recording.close()


def measure(hours: float, model: str | None) -> dict[str, float]:
    """One length, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        end = write_recording(path, hours)
        began = time.perf_counter()
        segments = sasayaki.load_model(model).stream(path) if model else scripted(path)
        last, n_segment = 0.0, 0
        for segment in segments:
            last, n_segment = segment.end, n_segment + 1
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"hours": hours, "seconds": seconds, "peak_mb": peak, "n_segment": n_segment, "last": last, "end": end}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hours", nargs="+", type=float)
    parser.add_argument("--model")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(measure(arguments.hours[0], arguments.model)))
        return
    print("| hours | seconds | seconds per hour | peak memory, MB | segments | drift of the last, s |")
    print("|---|---|---|---|---|---|")
    for hours in arguments.hours:
        command = [sys.executable, __file__, str(hours), "--here"]
        command += ["--model", arguments.model] if arguments.model else []
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        drift = found["last"] - found["end"]
        print(
            f"| {hours:g} | {found['seconds']:.0f} | {found['seconds'] / hours:.0f} | {found['peak_mb']:.0f} | "
            f"{found['n_segment']:.0f} | {drift:+.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
