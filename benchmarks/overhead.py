"""What the filters and the search cost in a step, beside the model's own step.

    python -m benchmarks.overhead                             # filters and search, base's vocabulary, 1 thread
    python -m benchmarks.overhead --model base --threads 2    # and as a share of a step of the model

Processor time of the thread is measured, the least of many steps, so that a busy machine does not change the figure.
With a model, both parts are measured in turns on the same steps and compared by their medians.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import sasayaki.decoding.pool as task_pool
from sasayaki.decoding.shortcut import likeliest_of
from sasayaki.decoding.task import DecodingTask, Proposal
from sasayaki.inference.base import Digest
from sasayaki.options import TranscribeOptions
from sasayaki.text.tokenizer import Tokenizer

N_VOCAB = 51865


@dataclass(frozen=True)
class Window:
    """An encoded window without a model."""

    array: None = None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", help="measure a step of this model, too")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    times = [each for _ in range(arguments.rounds) for each in task_times(arguments.beam_size, arguments.steps)]
    print(f"filters and search, {arguments.beam_size} beams: {1000 * min(times):.3f} ms (least), ", end="")
    print(f"{1000 * statistics.median(times):.3f} ms (median)")
    if arguments.model:
        compare(arguments)


def task_times(beam_size: int, n_steps: int) -> Iterator[float]:
    """Processor seconds of each step of filters and search on random logits that look like speech."""
    rng = np.random.default_rng(0)
    pool = [speech_logits(rng, beam_size) for _ in range(61)]  # so many that no loop is found
    task = new_task(beam_size)
    rows = task.start()
    digests = [digest(logits) for logits in pool]
    first = np.repeat(pool[0][:1], 2, axis=1)
    rows = task.advance(propose(task, first, digest(first)))
    for step in range(n_steps):
        logits, known = pool[step % len(pool)][: len(rows)], digests[step % len(pool)].rows(0, len(rows))
        begin = time.thread_time()
        rows = task.advance(propose(task, logits, known))
        yield time.thread_time() - begin
        if not rows:
            return


def new_task(beam_size: int) -> DecodingTask:
    """A decode as `transcribe` does it by default."""
    options = TranscribeOptions(beam_size=beam_size).for_window(0.0, language="en", prompt=())
    tokenizer = Tokenizer.for_vocab(N_VOCAB).with_language("en", "transcribe")
    return DecodingTask(Window(), tokenizer, options, n_text_ctx=448, n_vocab=N_VOCAB)


def speech_logits(rng: np.random.Generator, n_batch: int) -> np.ndarray:
    """Logits (n_batch, 1, N_VOCAB) float32: noise, a few likely words, the end and timestamps unlikely."""
    logits = rng.normal(-5, 3, (n_batch, 1, N_VOCAB)).astype(np.float32)
    logits[..., rng.choice(50000, 20, replace=False)] += rng.uniform(8, 20, 20).astype(np.float32)
    logits[..., 50257:] -= 20
    return logits


def propose(task: DecodingTask, logits: np.ndarray, known: Digest) -> Proposal:
    """The candidates of a decode, as `TaskPool` has them found."""
    (likeliest,) = likeliest_of([task.shortcut], logits, known, [task.sampled])
    return task.propose(logits, likeliest)


def digest(logits: np.ndarray) -> Digest:
    """What an engine finds out about logits while it has them at hand."""
    tokens = np.argsort(-logits, axis=-1)[..., :64]
    return Digest(np.log(np.exp(logits).sum(-1)), tokens, np.take_along_axis(logits, tokens, -1))


def compare(arguments: argparse.Namespace) -> None:
    """Print the share of filters and search in the steps of a decode with a model."""
    import sasayaki

    model = sasayaki.load_model(arguments.model, threads=arguments.threads)
    spent: dict[str, list[float]] = {"model": [], "search": []}
    _clock(type(model.inference.start()), "forward", spent["model"])
    noise = np.random.default_rng(0).standard_normal(480000).astype(np.float32) / 100
    mel = sasayaki.log_mel_spectrogram(noise)
    options = {"language": "en", "beam_size": arguments.beam_size, "suppress_tokens": [-1, model.tokenizer.eot]}
    model.decode(mel, **options)
    spent["model"].clear()
    _clock(task_pool, "likeliest_of", spent["search"])
    _clock(DecodingTask, "propose", spent["search"])
    _clock(DecodingTask, "advance", spent["search"])
    model.decode(mel, **options)
    forward = statistics.median(spent["model"][1:])
    parts = spent["search"][3:]  # without those of the first step
    search = statistics.median(map(sum, zip(parts[::3], parts[1::3], parts[2::3], strict=True)))
    share = 100 * search / (forward + search)
    print(f"{arguments.model}: model {1000 * forward:.2f} ms, filters and search {1000 * search:.2f} ms: {share:.1f} %")


def _clock(owner: Any, name: str, spent: list[float]) -> None:
    """Make a method note the seconds that each call takes."""
    plain: Callable[..., Any] = getattr(owner, name)

    def timed(*args: Any) -> Any:
        begin = time.perf_counter()
        result = plain(*args)
        spent.append(time.perf_counter() - begin)
        return result

    setattr(owner, name, timed)


if __name__ == "__main__":
    main()
