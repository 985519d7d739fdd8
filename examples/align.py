"""Align a known text with its recording, and print the words that were not found.

python examples/align.py tests/data/en_jfk.mp3 "And so my fellow Americans, ask not what your country can do."
"""

import sys

import sasayaki

recording, text = sys.argv[1:]
alignment = sasayaki.load_model("tiny.en").align(recording, text)
for word in alignment.words:
    print(f"{word.start:.2f}\t{word.end:.2f}\t{word.word}" if word.is_aligned else f"not found\t\t{word.word}")
