"""Where the decoder was in two minds: read a trace and print the tokens that nearly were others, and who decided.

sasayaki inspect recording.wav --trace recording.jsonl
python examples/read_trace.py recording.jsonl
"""

import math
import sys
from collections.abc import Iterator

from sasayaki.trace import StepRow, Trace, TracedDecode, WindowFinished

CLOSE = 0.2
"""Probability of a second choice from which a token is printed."""


def main(path: str) -> None:
    """Print each window with its decodes, and the close calls of the one that was kept."""
    trace = Trace.read(path)
    decodes = {decode.started.decode: decode for decode in trace.decodes()}
    for window in trace.windows():
        print(f"{window.seek / 100:.2f} to {window.end / 100:.2f} s:{decode_text(decodes[window.kept])}")
        for line in attempts(window):
            print(f"  {line}")
        for line in close_calls(decodes[window.kept]):
            print(f"  {line}")


def decode_text(decode: TracedDecode) -> str:
    """What a decode ended with."""
    return decode.finished.text if decode.finished else ""


def attempts(window: WindowFinished) -> Iterator[str]:
    """Why decodes of the window were not kept."""
    for attempt in window.attempts:
        if attempt.failed:
            yield f"temperature {attempt.temperature} failed {', '.join(attempt.failed)}"


def close_calls(decode: TracedDecode) -> Iterator[str]:
    """Steps of the result at which the model, or a filter, might have gone another way."""
    for step, row in zip(decode.steps, decode.winning_rows(), strict=False):
        yield from second_choice(step.rows[row])
        for name, effect in zip(decode.started.stages, step.rows[row].effects, strict=True):
            if effect.removed >= CLOSE:
                worst = effect.banned[0]
                yield f"{name} took away {effect.removed:.0%}, most of all {worst.text!r} {worst.prob:.0%}"


def second_choice(row: StepRow) -> Iterator[str]:
    """The two likeliest tokens, where the second is likely too."""
    if len(row.candidates) > 1:
        (first, share), (second, rival) = [(one.text, math.exp(one.logprob)) for one in row.candidates[:2]]
        if rival >= CLOSE:
            yield f"{first!r} {share:.0%} or {second!r} {rival:.0%}"


if __name__ == "__main__":
    main(sys.argv[1])
