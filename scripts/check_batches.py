"""Check that windows decoded together give what each gives alone, token for token, with real weights at float32.

    check_batches.py FOLDER --models base --backends openvino torch --rounds 5

The first eight recordings of FOLDER/manifest.tsv (columns file and text) are decoded in each round with other beams,
1 to 5, or samples, and other prompts, 0 to 223 tokens: together in two orders, and one by one. Prints a table.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path
from typing import Any

import numpy as np

import sasayaki
from sasayaki import DecodingOptions

N_AUDIO = 8
PROMPT_LENGTHS = (0, 1, 8, 50, 111, 200, 222, 223)


def main() -> None:
    """Check each model on each engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", default=["base"])
    parser.add_argument("--backends", nargs="+", default=["openvino", "torch"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    with (arguments.folder / "manifest.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:N_AUDIO]
    print("| model | engine | windows | hypotheses | equal tokens | largest difference of a sum |")
    print("|---|---|---|---|---|---|")
    for name in arguments.models:
        for backend in arguments.backends:
            model = sasayaki.load_model(name, backend=backend, precision="float32", threads=arguments.threads)
            print(f"| {name} | {backend} | {check(model, arguments.folder, rows, arguments.rounds)} |", flush=True)


def check(model: Any, folder: Path, rows: list[dict[str, str]], n_rounds: int) -> str:
    """Counts of one model, as cells of the table."""
    spoken = model.tokenizer.encode(" " + " ".join(row["text"] for row in rows))
    prompts = [(spoken * 8)[:length] for length in PROMPT_LENGTHS]
    mels = [
        sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(folder / row["file"]))) for row in rows
    ]
    audios = model.embed_audio(np.stack(mels))
    draw = random.Random(0)
    n_equal = n_hypothesis = 0
    largest = 0.0
    for number in range(n_rounds):
        options = [options_of(index + number, prompts[(3 * index + number) % N_AUDIO]) for index in range(N_AUDIO)]
        alone = [model.decode(audio, option) for audio, option in zip(audios, options, strict=True)]
        for order in (range(N_AUDIO), draw.sample(range(N_AUDIO), N_AUDIO)):
            together = model.decode(audios[list(order)], [options[i] for i in order])
            for place, result in zip(order, together, strict=True):
                expected = alone[place].hypotheses
                n_hypothesis += len(expected)
                n_equal += sum(a.tokens == b.tokens for a, b in zip(result.hypotheses, expected, strict=True))
                differences = [
                    abs(a.sum_logprob - b.sum_logprob)
                    for a, b in zip(result.hypotheses, expected, strict=True)
                    if a.tokens == b.tokens
                ]
                largest = max(largest, *differences, 0.0)
    return f"{2 * n_rounds * N_AUDIO} | {n_hypothesis} | {n_equal} | {largest:.1e}"


def options_of(number: int, prompt: list[int]) -> DecodingOptions:
    """Beams 1 to 5, or every sixth time three samples."""
    n_beam = number % 6
    if not n_beam:
        return DecodingOptions(language="en", temperature=0.6, best_of=3, prompt=prompt)
    return DecodingOptions(language="en", beam_size=n_beam, prompt=prompt)


if __name__ == "__main__":
    main()
