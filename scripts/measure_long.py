"""Memory, time and drift of long recordings, as a table: the whole way but for the weights, or with a real model.

    python scripts/measure_long.py 0.1667 1 10                   # hours; a scripted decoder that hears where speech is
    python scripts/measure_long.py 0.1667 1 --model tiny.en      # a real model
    python scripts/measure_long.py 0.1667 1 --model tiny.en --words --beams 5

The recordings are a few clips again and again, each cut to its sound, with a pause behind each. Every length runs in a
process of its own. In the table, seconds and memory have a figure for each quarter of the recording. The first and the
last end are how far the last segment of the first and of the last turn ends behind the sound of its clip; the drift is
the difference of the two, for turns that have the same words.
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
from spoken_words import loud_stretch

import sasayaki
from sasayaki.options import TranscribeOptions
from sasayaki.results import DecodingResult
from sasayaki.transcribe.driver import Driver
from sasayaki.transcribe.loop import Assignment, transcribe_recording
from sasayaki.transcribe.recording import opened
from sasayaki.transcribe.requests import Answer, Decode, Request, WindowResult

ROOT = Path(__file__).resolve().parents[1]
CLIPS = [ROOT / "tests" / "data" / f"en_lj_LJ001-000{number}.mp3" for number in (1, 3, 4, 5)]
PAUSE_S = 2.0
RATE = 16000
N_PARTS = 4


def write_recording(path: Path, hours: float) -> tuple[float, float]:
    """The clips and pauses, repeated; gives the seconds at which the sound of the first and of the last turn ends."""
    parts = []
    for clip in CLIPS:
        samples = sasayaki.load_audio(clip)
        first, last = loud_stretch(samples)
        parts += [(samples[first:last] * 32767).astype("<i2"), np.zeros(round(PAUSE_S * RATE), "<i2")]
    turn = np.concatenate(parts).tobytes()
    seconds = len(turn) / 2 / RATE
    n_turns = round(hours * 3600 / seconds)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        for _ in range(n_turns):
            file.writeframes(turn)
    return seconds - PAUSE_S, n_turns * seconds - PAUSE_S


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
        for window in Listener(decoder, recording).run(transcribe_recording(work, work.begin())):
            assert isinstance(window, WindowResult)
            yield from window.segments
        recording.close()


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """One length, in this process."""
    hours = arguments.hours[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        first_end, last_end = write_recording(path, hours)
        began = time.perf_counter()
        options = {"word_timestamps": arguments.words, "beam_size": arguments.beams}
        segments = sasayaki.load_model(arguments.model).stream(path, **options) if arguments.model else scripted(path)
        parts: list[tuple[float, float]] = []
        end, off_first, n_segment = 0.0, 0.0, 0
        for segment in segments:
            if segment.start < first_end:
                off_first = segment.end - first_end
            while segment.end > (len(parts) + 1) * last_end / N_PARTS:
                parts.append((time.perf_counter() - began, peak_mb()))
            end, n_segment = segment.end, n_segment + 1
        parts = [*parts, (time.perf_counter() - began, peak_mb())][:N_PARTS]
    return {"hours": hours, "parts": parts, "n_segment": n_segment, "first": off_first, "last": end - last_end}


def peak_mb() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hours", nargs="+", type=float)
    parser.add_argument("--model")
    parser.add_argument("--words", action="store_true", help="with word times")
    parser.add_argument("--beams", type=int)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(measure(arguments)))
        return
    print("| hours | seconds for each quarter | peak memory after each quarter, MB | segments | first end | last end |")
    print("|---|---|---|---|---|---|")
    flags = ["--words"] if arguments.words else []
    for name in ("model", "beams"):
        value = getattr(arguments, name)
        flags += [f"--{name}", str(value)] if value else []
    for hours in arguments.hours:
        command = [sys.executable, __file__, str(hours), "--here", *flags]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        seconds = np.diff([0.0, *(part[0] for part in found["parts"])])
        print(
            f"| {hours:g} | {', '.join(f'{each:.1f}' for each in seconds)} | "
            f"{', '.join(f'{part[1]:.0f}' for part in found['parts'])} | {found['n_segment']} | "
            f"{found['first']:+.2f} | {found['last']:+.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
