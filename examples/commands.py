"""Recognise one of a few commands, and notice when something else was said.

    python examples/commands.py tests/data/en_fmt_123_mono-8-bit-44100Hz.wav "one two three" "three two one" stop

Needs the extra `grammar`: pip install "sasayaki[grammar]".
"""

import re
import sys
from math import exp

import sasayaki

LEAST = 0.3
"""Mean probability of the tokens, before the grammar, below which no command was meant."""


def main(recording: str, *commands: str) -> None:
    """Print the command and how sure it is."""
    spellings = {command: rf"(?i:{',? '.join(map(re.escape, command.split()))})[.!?]?" for command in commands}
    grammar = sasayaki.Grammar.regex("|".join(spellings.values()))
    model = sasayaki.load_model("tiny.en")
    mel = sasayaki.log_mel_spectrogram(sasayaki.pad_or_trim(sasayaki.load_audio(recording)))
    result = model.decode(mel, grammar=grammar, beam_size=5, without_timestamps=True)
    assert isinstance(result, sasayaki.DecodingResult)
    raw = result.hypotheses[0].token_raw_logprobs  # what the model itself thinks of this text
    probability = exp(sum(raw) / len(raw))
    meant = [command for command, spelling in spellings.items() if re.fullmatch(spelling, result.text)]
    print(f"{meant[0] if meant and probability >= LEAST else 'no command'}\t{probability:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
