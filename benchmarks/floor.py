"""How near the OpenVINO engine is to what the machine can do.

    python -m benchmarks.floor --models base,tiny.en --threads 2

First the machine (`peaks.py`). Then for each model the floor of an encoder pass and of a decoder step: the larger of
two times, operations over the peaks, and bytes that must be read over the bandwidth. Beside it what the engine takes.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sasayaki
from benchmarks.peaks import Machine, measure_machine, seconds
from sasayaki.checkpoints.names import ModelDimensions
from sasayaki.inference.base import Inference, Row
from sasayaki.inference.openvino_runtime import PrecisionPlan

CLIP = Path(__file__).resolve().parents[1] / "tests" / "data" / "en_jfk.mp3"
N_STEPS = 60


@dataclass(frozen=True)
class Work:
    """What a pass or a step cannot do without.

    Attributes:
        weight_ops: operations (two for each multiplication) with weights.
        other_ops: operations between activations: attention.
        n_weights: weights of matrix products, each read once.
        n_cached: keys and values of the audio, each read once.
    """

    weight_ops: float
    other_ops: float
    n_weights: float
    n_cached: float = 0

    def floor(self, machine: Machine, plan: PrecisionPlan) -> float:
        """Least seconds."""
        weights = machine.peak(is_int8=plan.has_int8_weights, is_bfloat16=plan.is_bfloat16)
        others = machine.peak(is_int8=False, is_bfloat16=plan.is_bfloat16)
        width = 2 if plan.is_bfloat16 else 4
        n_bytes = self.n_weights * (1 if plan.has_int8_weights else width) + self.n_cached * width
        return max(self.weight_ops / weights + self.other_ops / others, n_bytes / machine.bandwidth)


def encoder_work(dims: ModelDimensions) -> Work:
    """A window of 30 s: convolutions, blocks, and the keys and values that the decoder will read."""
    n_ctx, width = dims.n_audio_ctx, dims.n_audio_state
    blocks = 12 * width**2 * dims.n_audio_layer
    cross = 2 * width**2 * dims.n_text_layer
    convolutions = 3 * dims.n_mels * width, 3 * width**2
    products = (blocks + cross + convolutions[1]) * n_ctx + convolutions[0] * 2 * n_ctx
    attention = 2 * n_ctx**2 * width * dims.n_audio_layer
    return Work(2 * products, 2 * attention, blocks + cross + sum(convolutions))


def step_work(dims: ModelDimensions, n_rows: int) -> Work:
    """One token for each row, all rows of the same window; self-attention's own cache is left out."""
    width = dims.n_text_state
    n_weights = 14 * width**2 * dims.n_text_layer + dims.n_vocab * width
    n_cached = 2 * dims.n_audio_ctx * width * dims.n_text_layer
    return Work(2 * n_weights * n_rows, 2 * n_cached * n_rows, n_weights, n_cached)


def encoder_seconds(engine: Inference, mel: Any) -> float:
    """Median time of an encoder pass."""
    engine.encode(mel)
    return statistics.median(seconds(lambda: engine.encode(mel)) for _ in range(9))


def step_seconds(engine: Inference, mel: Any, n_rows: int) -> float:
    """Median time of a step of the decoder, without filters and search."""
    (audio,) = engine.encode(mel)
    session = engine.start()
    session.forward([Row(audio, (engine.dims.n_vocab - 1502,) * 4)] * n_rows)
    spent = []
    for _ in range(N_STEPS):
        rows = [Row(audio, (1000,), source=index) for index in range(n_rows)]
        spent.append(seconds(lambda rows=rows: session.forward(rows)))  # type: ignore[misc]
    session.close()
    return statistics.median(spent)


def report(name: str, machine: Machine, threads: int, precision: str) -> None:
    """Print the rows of a model."""
    engine = sasayaki.load_model(name, backend="openvino", threads=threads, precision=precision).inference
    plan = PrecisionPlan.choose(precision)
    mel = sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(CLIP)))[None]
    line("encoder pass", name, encoder_work(engine.dims).floor(machine, plan), encoder_seconds(engine, mel))
    for n_rows in (1, 5):
        floor = step_work(engine.dims, n_rows).floor(machine, plan)
        line(f"step, {n_rows} row{'s' * (n_rows > 1)}", name, floor, step_seconds(engine, mel, n_rows))


def line(what: str, name: str, floor: float, measured: float) -> None:
    """Print a row of the table."""
    print(f"| {name} | {what} | {1000 * floor:.2f} | {1000 * measured:.2f} | {measured / floor:.2f} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="base")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="auto")
    given = parser.parse_args()
    machine = measure_machine(given.threads)
    print(f"Memory {machine.bandwidth / 1e9:.1f} GB/s; matrix products in 10^9 operations a second: ", end="")
    print(f"float32 {machine.float32 / 1e9:.0f}, bfloat16 {machine.bfloat16 / 1e9:.0f}, int8 {machine.int8 / 1e9:.0f}.")
    print("\n| model | what | floor ms | measured ms | ratio |\n|---|---|---|---|---|")
    for name in given.models.split(","):
        report(name, machine, given.threads, given.precision)


if __name__ == "__main__":
    main()
