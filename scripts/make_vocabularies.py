"""Make the vocabulary files that ship with the package from those of openai-whisper.

    pip install openai-whisper
    python scripts/make_vocabularies.py

Each file is gzip over one byte per token, its length, followed by the bytes of all tokens in order of ids.
"""

import base64
import gzip
from pathlib import Path

import whisper

ASSETS = Path(__file__).parents[1] / "src/sasayaki/text/assets"


def main() -> None:
    """Write both files."""
    for source, name in (("gpt2", "english"), ("multilingual", "multilingual")):
        lines = (Path(whisper.__file__).parent / "assets" / f"{source}.tiktoken").read_text().splitlines()
        ids = {int(token): base64.b64decode(text) for text, token in map(str.split, filter(None, lines))}
        pieces = [ids[token] for token in range(len(ids))]
        packed = bytes(map(len, pieces)) + b"".join(pieces)
        (ASSETS / f"{name}.gz").write_bytes(gzip.compress(packed, 9, mtime=0))
        print(f"{name}: {len(pieces)} tokens")


if __name__ == "__main__":
    main()
