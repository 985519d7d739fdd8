"""What the trace costs in a step when none is asked for: the decoder against one without any trace in its code.

    python -m benchmarks.trace_off                             # filters and search alone, base's vocabulary, 1 thread
    python -m benchmarks.trace_off --model base --threads 2    # whole decodes with a model

The decoder without a trace is made from the source of `DecodingTask`, with every mention of the recorder taken out.
Runs take turns, so that both meet the same machine; each run's figure is the median of its steps, and the ratio is
the median over pairs of neighbouring runs.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.overhead import N_VOCAB, Window, digest, propose, speech_logits
from sasayaki.decoding import decode, task
from sasayaki.decoding.task import DecodingTask
from sasayaki.options import TranscribeOptions
from sasayaki.text.tokenizer import Tokenizer


class _WithoutRecorder(ast.NodeTransformer):
    """Takes out statements that mention the recorder."""

    def visit_If(self, node: ast.If) -> ast.If | None:
        return None if "_recorder" in ast.unparse(node.test) else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        return None if "_recorder" in ast.unparse(node) else node


def task_without_trace() -> type[DecodingTask]:
    """`DecodingTask` as it would be if there were no trace."""
    tree = _WithoutRecorder().visit(ast.parse(inspect.getsource(DecodingTask)))
    assert "_recorder" not in ast.unparse(tree), "the recorder is mentioned in a way that this script does not know"
    names = dict(vars(task))
    exec(compile(ast.fix_missing_locations(tree), "task_without_trace", "exec"), names)
    made: type[DecodingTask] = names["DecodingTask"]
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beam-size", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--model", help="measure whole decodes of this model, too")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    kinds = [DecodingTask, task_without_trace()]
    rng = np.random.default_rng(0)
    pool = [speech_logits(rng, arguments.beam_size) for _ in range(61)]  # so many that no loop is found

    def step_time(kind: type[DecodingTask]) -> float:
        return statistics.median(step_times(kind, pool, arguments.beam_size, arguments.steps))

    report("filters and search of a step", kinds, step_time, arguments.pairs)
    if arguments.model:
        report(f"decode with {arguments.model}", kinds, model_decode(arguments), arguments.pairs)


def report(
    title: str, kinds: Sequence[type[DecodingTask]], measure: Callable[[type[DecodingTask]], float], n_pair: int
) -> None:
    """Measure both kinds in turns and print the medians."""
    for kind in kinds:
        measure(kind)
    times: list[tuple[float, float]] = []
    for pair in range(n_pair):
        order = (0, 1) if pair % 2 == 0 else (1, 0)
        taken = {index: measure(kinds[index]) for index in order}
        times.append((taken[0], taken[1]))
    off, without = (statistics.median(column) for column in zip(*times, strict=True))
    ratios = sorted(mine / other for mine, other in times)
    low, middle, high = (100 * ratios[round(share * (n_pair - 1))] - 100 for share in (0.25, 0.5, 0.75))
    print(f"{title}: no trace asked for {1000 * off:.4f} ms, no trace in the code {1000 * without:.4f} ms: ", end="")
    print(f"{middle:+.2f} % (quartiles {low:+.2f} to {high:+.2f} %)")


def step_times(kind: type[DecodingTask], pool: Sequence[np.ndarray], beam_size: int, n_steps: int) -> list[float]:
    """Processor seconds of each step of filters and search on logits that look like speech."""
    options = TranscribeOptions(beam_size=beam_size).for_window(0.0, language="en", prompt=())
    tokenizer = Tokenizer.for_vocab(N_VOCAB).with_language("en", "transcribe")
    decoding = kind(Window(), tokenizer, options, n_text_ctx=448, n_vocab=N_VOCAB)
    digests = [digest(logits) for logits in pool]
    decoding.start()
    first = np.repeat(pool[0][:1], 2, axis=1)
    rows = decoding.advance(propose(decoding, first, digest(first)))
    times = []
    for step in range(n_steps):
        logits, known = pool[step % len(pool)][: len(rows)], digests[step % len(pool)].rows(0, len(rows))
        begin = time.thread_time()
        rows = decoding.advance(propose(decoding, logits, known))
        times.append(time.thread_time() - begin)
        if not rows:
            break
    return times


def model_decode(arguments: argparse.Namespace) -> Callable[[type[DecodingTask]], float]:
    """A function that decodes one window to its last step and gives the seconds taken."""
    import sasayaki

    model: Any = sasayaki.load_model(arguments.model, threads=arguments.threads)
    noise = np.random.default_rng(0).standard_normal(480000).astype(np.float32) / 100
    features = model.embed_audio(sasayaki.log_mel_spectrogram(noise))
    options = {"language": "en", "beam_size": arguments.beam_size, "suppress_tokens": [-1, model.tokenizer.eot]}

    def measure(kind: type[DecodingTask]) -> float:
        decode.DecodingTask = kind  # type: ignore[misc]
        begin = time.perf_counter()
        model.decode(features, sample_len=arguments.steps, **options)
        return time.perf_counter() - begin

    return measure


if __name__ == "__main__":
    main()
