"""Print a recording with its doubtful words, and with what else they may have been.

python examples/did_you_mean.py tests/data/en_libri_367-130732-0006.flac
"""

import sys

import sasayaki

DOUBTFUL = 0.7
"""Calibrated probability below which a word is printed."""

LIKELY = 0.02
"""Share of the hypotheses from which another reading is offered."""


def main(recording: str) -> None:
    """Print a line for each segment, with a line for each doubtful word of it."""
    model = sasayaki.load_model("tiny.en", precision="float32")
    for segment in model.transcribe(recording, patience=2.0).segments:
        print(f"{segment.confidence:.0%} {segment.text.strip()}")
        words = iter(segment.word_scores)
        for slot in segment.alternatives:
            word = next(words) if slot.text else None  # where slot.text is empty, only other hypotheses have a word
            others = [
                other.text or "(nothing)"
                for other in slot.alternatives
                if other.probability >= LIKELY and letters(other.text) != letters(slot.text)
            ]
            if others or (word and word.probability < DOUBTFUL):
                print(f"  {slot.text or '(nothing)'}", f"{word.probability:.0%}" if word else "", *others, sep="\t")


def letters(text: str) -> str:
    """The text without case and punctuation."""
    return "".join(character for character in text.casefold() if character.isalnum())


if __name__ == "__main__":
    main(*sys.argv[1:])
