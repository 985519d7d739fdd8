"""Find the heads of a model's cross-attention that follow the audio, and how far behind a word's start each looks.

    find_alignment_heads.py MANIFEST --model tiny.en
    find_alignment_heads.py MANIFEST --model my-model --limit 20

MANIFEST is a tsv with the columns file, language, seconds and text beside its recordings. The set `tune` of
`spoken_words.py` has speech whose words start at known times. The decoder is fed the text of the first 30 s of each
file, and the attention of the position that predicts the first token of each word is laid over those of all other
words, so that their starts meet. Where the mean has its peak is the lag of a head; the share of the attention within
0.1 s of the peak is its score.

Prints the best heads with their scores, then the heads that the model has now with their lags, and those that were
found here, which score at least half as much as the best one: as they stand in `checkpoints/tables.py`, and as they
stand in the generation_config.json of a Hugging Face model or the config.json of a CTranslate2 one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from spoken_words import Speech, make_speech

import sasayaki
from sasayaki.audio.constants import CHUNK_LENGTH, TOKENS_PER_SECOND

BEFORE, AFTER = 0.2, 0.8
"""Seconds around the start of a word in which a head that looks at the word has its peak."""

NEAR = 0.1
"""Seconds around the peak that count as the peak."""

MOST_HEADS = 20


def around_starts(model: sasayaki.Whisper, speech: Speech, heads: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """Attention of all heads (n_head, n_step) around the start of each word that has a known one."""
    said = list(takewhile(lambda word: (word.start or 0) < CHUNK_LENGTH - AFTER, speech.words))
    tokenizer = model.tokenizer.with_language("en")
    tokens, places = list(tokenizer.sot_sequence_including_notimestamps), []
    for word in said:
        places.append(len(tokens) - 1)
        tokens += tokenizer.encode(f" {word.text}")
    mel = sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(speech.samples), model.dims.n_mels)
    (audio,) = model.inference.encode(np.asarray(mel)[None])
    weights = np.asarray(model.inference.cross_attention(audio, (*tokens, tokenizer.eot), tuple(heads)))
    n_before, n_after = round(BEFORE * TOKENS_PER_SECOND), round(AFTER * TOKENS_PER_SECOND)
    padded = np.pad(weights, ((0, 0), (0, 0), (n_before, n_after)))
    for word, place in zip(said, places, strict=True):
        if word.start is not None:
            step = round(word.start * TOKENS_PER_SECOND)
            yield padded[:, place, step : step + n_before + n_after]


def scores_and_lags(curves: npt.NDArray[np.float64]) -> Iterator[tuple[float, float]]:
    """Share of the attention that lies near the peak of each curve (n_head, n_step), and where the peak is."""
    near = round(NEAR * TOKENS_PER_SECOND)
    for curve in curves:
        peak = int(np.argmax(np.convolve(curve, np.ones(5) / 5, "same")))
        yield float(curve[max(0, peak - near) : peak + near + 1].sum()), round(peak / TOKENS_PER_SECOND - BEFORE, 2)


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--model", default="tiny.en")
    parser.add_argument("--limit", type=int, help="files to use; all by default")
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    model = sasayaki.load_model(arguments.model, threads=arguments.threads, precision="float32")
    heads = [(layer, head) for layer in range(model.dims.n_text_layer) for head in range(model.dims.n_text_head)]
    words = [
        curve
        for speech in islice(make_speech(arguments.manifest, "tune"), arguments.limit)
        for curve in around_starts(model, speech, heads)
    ]
    measured = dict(zip(heads, scores_and_lags(np.mean(words, axis=0)), strict=True))
    best = sorted(heads, key=lambda head: measured[head], reverse=True)[:MOST_HEADS]
    print(f"{len(words)} words\nhead\tscore\tlag")
    for head in best:
        print(f"{head}\t{measured[head][0]:.2f}\t{measured[head][1]:.2f}")
    found = sorted(head for head in best if measured[head][0] >= measured[best[0]][0] / 2)
    for title, some in (("now", model.alignment_heads or ()), ("found", found)):
        lags = [measured[head][1] for head in some]
        print(f"{title}: {tuple(some)}\nlags: {tuple(lags)}")
        print(json.dumps({"alignment_heads": some, "alignment_head_lags": lags}))


if __name__ == "__main__":
    main()
