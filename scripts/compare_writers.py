"""Write random words as srt and vtt with openai/whisper and with sasayaki, and print where the files differ.

Runs where openai-whisper 20250625 is installed beside sasayaki. Words follow each other in time, each lasts, and none
holds markup: for others the files differ on purpose (docs/differences.md). A difference makes the exit status 1.

    compare_writers.py --trials 3000 --seed 0
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import warnings
from typing import Any

from whisper.utils import WriteSRT, WriteVTT

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription, Word
from sasayaki.writers import render

TEXTS = ["a", "hello", "Kubernetes,", "x.", "antidisestablishmentarianism", "日本"]
FORMATS = {"srt": WriteSRT, "vtt": WriteVTT}


def random_segments(rng: random.Random) -> tuple[Segment, ...]:
    """Up to five segments of words, some behind pauses, some without a space."""
    segments, time = [], 0.0
    for number in range(rng.randint(0, 5)):
        words = []
        for place in range(rng.randint(1, 9)):
            start = time + rng.choice([0, 0, 0, 0.3, 3.5])
            time = start + rng.choice([0.1, 0.24, 0.5, 1.337])
            space = rng.choice([" ", " ", " ", ""]) if place else " "
            words.append(Word(word=space + rng.choice(TEXTS), start=start, end=time, probability=0.5))
        segments.append(segment_of(number, words))
    return tuple(segments)


def segment_of(number: int, words: list[Word]) -> Segment:
    """A segment of these words."""
    return Segment(
        id=number,
        seek=0,
        start=words[0].start,
        end=words[-1].end,
        text="".join(word.word for word in words),
        tokens=(),
        temperature=0.0,
        avg_logprob=0.0,
        compression_ratio=1.0,
        no_speech_prob=0.0,
        language="en",
        words=tuple(words),
    )


def random_options(rng: random.Random) -> dict[str, Any]:
    """Any combination of the options that both have."""
    return {
        "max_line_width": rng.choice([None, 5, 12, 30]),
        "max_line_count": rng.choice([None, 1, 2, 3]),
        "max_words_per_line": rng.choice([None, None, 1, 2, 3]),
        "highlight_words": rng.random() < 0.5,
    }


def reference(name: str, segments: tuple[Segment, ...], options: dict[str, Any]) -> str:
    """The file that openai/whisper writes."""
    plain = [{**segment.to_dict(), "words": [dict(word) for word in segment.words]} for segment in segments]
    file = io.StringIO()
    FORMATS[name](".").write_result({"segments": plain}, file, dict(options))
    return file.getvalue()


def main() -> int:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, n_different = random.Random(given.seed), 0
    for _ in range(given.trials):
        segments, options = random_segments(rng), random_options(rng)
        whole = Transcription(text="", segments=segments, language="en")
        for name in FORMATS:
            ours, theirs = render(whole, name, WriterOptions(**options)), reference(name, segments, options)
            if ours != theirs:
                n_different += 1
                print(f"{name} with {options}:\n{theirs}\nsasayaki:\n{ours}")
    print(f"{n_different} of {given.trials * len(FORMATS)} files differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
