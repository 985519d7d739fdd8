"""Measure how far a precision is from float32: divergence of the next token's distribution, fed the same words.

    measure_precision.py MANIFEST --models tiny.en base --precisions bfloat16 auto

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The words are those of greedy
decoding at float32. Printed are the mean and the 95th percentile of the Kullback-Leibler divergence from float32 in
nats, and how often the likeliest token is the same. Word error rates of a few thousand words are too coarse to tell
recipes apart; this is not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from accuracy import labelled

import sasayaki
from sasayaki.decoding.arrays import logsumexp
from sasayaki.inference.base import Row


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--models", nargs="+", default=["tiny.en", "base"])
    parser.add_argument("--precisions", nargs="+", default=["bfloat16", "auto"])
    parser.add_argument("--every", type=int, default=4, help="take every n-th recording")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    for name in arguments.models:
        model = sasayaki.load_model(name, precision="float32", threads=arguments.threads)
        paths = [arguments.manifest.parent / row["file"] for row in labelled(arguments.manifest, "en")]
        samples = [sasayaki.pad_or_trim(sasayaki.load_audio(path)) for path in paths[:: arguments.every]]
        mels = [sasayaki.log_mel_spectrogram(window, model.dims.n_mels) for window in samples]
        fed = [words(model, mel) for mel in mels]
        exact = [logprobs(model, mel, tokens) for mel, tokens in zip(mels, fed, strict=True)]
        for precision in arguments.precisions:
            other = sasayaki.load_model(name, precision=precision, threads=arguments.threads)
            found = [logprobs(other, mel, tokens) for mel, tokens in zip(mels, fed, strict=True)]
            report(f"{name} {precision}", np.concatenate(exact), np.concatenate(found))


def words(model: sasayaki.Whisper, mel: np.ndarray) -> tuple[int, ...]:
    """What to feed: the start sequence and the tokens of greedy decoding."""
    result = model.decode(mel, language="en")
    return (*model.tokenizer.with_language("en", "transcribe").sot_sequence, *result.tokens)


def logprobs(model: sasayaki.Whisper, mel: np.ndarray, tokens: tuple[int, ...]) -> np.ndarray:
    """Log-probabilities (n_tokens, n_vocab) after each token, fed one at a time as a decode does."""
    audio = model.inference.encode(mel[None])[0]
    session = model.inference.start()
    rows = [Row(audio, (token,), 0 if step else None) for step, token in enumerate(tokens)]
    logits = np.stack([session.forward([row])[0, 0].copy() for row in rows])
    return logits - logsumexp(logits)[:, None]


def report(label: str, exact: np.ndarray, found: np.ndarray) -> None:
    """Print the distances of one precision."""
    divergence = (np.exp(exact.astype(np.float64)) * (exact - found)).sum(axis=1)
    same = (exact.argmax(axis=1) == found.argmax(axis=1)).mean()
    print(f"{label}: mean {divergence.mean():.5f}, 95 % below {np.quantile(divergence, 0.95):.4f}, ", end="")
    print(f"same token {same:.2%} of {len(exact)}", flush=True)


if __name__ == "__main__":
    main()
