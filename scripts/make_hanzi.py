"""Make the table of Simplified and Traditional Chinese characters that ships with the package, from Unihan.

    python scripts/make_hanzi.py UNIHAN_FOLDER

The folder holds Unihan_Variants.txt and Unihan_OtherMappings.txt of the Unicode Character Database. The table is
gzip over two bitmaps of the characters from U+3000 up to U+30000, lowest bit first:

- Simplified: kTGH, the 8105 characters of the list that China made the standard in 2013.
- Traditional: kBigFive and kHKSCS, without those that only stand for another character. Of the 5401 characters in
  daily use (the first plane of Big5) all are kept.

Both have the zero, U+3007.
"""

import gzip
import re
import sys
from pathlib import Path

import numpy as np

ASSET = Path(__file__).parents[1] / "src/sasayaki/text/assets/hanzi.gz"
FIRST, END = 0x3000, 0x30000
DAILY = range(0xA440, 0xC6A1)
ZERO = 0x3007


def main(folder: str) -> None:
    """Write the table."""
    other = read(Path(folder) / "Unihan_OtherMappings.txt")
    variants = read(Path(folder) / "Unihan_Variants.txt")["kTraditionalVariant"]
    stand_ins = {code for code, value in variants.items() if f"U+{code:04X}" not in re.findall(r"U\+[0-9A-F]+", value)}
    big5 = {code: int(value.split()[0], 16) for code, value in other["kBigFive"].items()}
    daily = {code for code, place in big5.items() if place in DAILY}
    traditional = daily | ((set(big5) | set(other["kHKSCS"])) - stand_ins)
    packed = b"".join(bitmap({*codes, ZERO}) for codes in (set(other["kTGH"]), traditional))
    ASSET.write_bytes(gzip.compress(packed, 9, mtime=0))
    print(f"{len(other['kTGH'])} simplified, {len(traditional)} traditional")


def read(file: Path) -> dict[str, dict[int, str]]:
    """Values of all fields of a Unihan file, by code point."""
    fields: dict[str, dict[int, str]] = {}
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("U+"):
            code, name, value = line.split("\t")
            fields.setdefault(name, {})[int(code[2:], 16)] = value
    return fields


def bitmap(codes: set[int]) -> bytes:
    """One bit for each code point."""
    bits = np.zeros(END - FIRST, np.uint8)
    bits[[code - FIRST for code in codes if code < END]] = 1
    return np.packbits(bits, bitorder="little").tobytes()


if __name__ == "__main__":
    main(sys.argv[1])
