"""The ids of the tokens that are not text: end, start, languages, tasks, markers and timestamps.

All of them lie after the text tokens, in one order: end of text, start of transcript, languages, translate,
transcribe, start of language model, start of previous text, no speech, no timestamps, timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sasayaki.errors import CheckpointError
from sasayaki.languages import LANGUAGES

N_TIMESTAMPS = 1501
"""Timestamp tokens: 0.00 to 30.00 seconds in steps of 0.02."""

# Size of a whole vocabulary to the number of its text tokens and of its languages.
_LAYOUTS = {51864: (50256, 99), 51865: (50257, 99), 51866: (50257, 100)}


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """Special token ids of one vocabulary; ids below `eot` are text.

    Attributes:
        n_vocab: number of all tokens.
        eot: end of text.
        sot: start of transcript.
        languages: language code to token id, in vocabulary order.
        translate: task of writing English whatever is spoken.
        transcribe: task of writing what is spoken.
        sot_lm: start of text without audio; never used by the published models.
        sot_prev: start of previous text, before a prompt.
        no_speech: says that nobody speaks.
        no_timestamps: asks for text without timestamps.
        timestamp_begin: the timestamp of 0.00 seconds; all ids from here on are timestamps.
        n_timestamps: number of timestamps, 0.02 seconds apart.
        is_multilingual: whether the language and task tokens are in use.
    """

    n_vocab: int
    eot: int
    sot: int
    languages: Mapping[str, int] = field(hash=False, repr=False)
    translate: int
    transcribe: int
    sot_lm: int
    sot_prev: int
    no_speech: int
    no_timestamps: int
    timestamp_begin: int
    n_timestamps: int = N_TIMESTAMPS
    is_multilingual: bool = True

    @classmethod
    def for_vocab(cls, n_vocab: int) -> SpecialTokens:
        """The special tokens of a published vocabulary: 51864 (English-only), 51865 or 51866 tokens.

        The English-only vocabulary has its 99 language tokens too, but they are not in use.

        Raises:
            CheckpointError: no Whisper vocabulary has this size.
        """
        if n_vocab not in _LAYOUTS:
            known = ", ".join(str(size) for size in _LAYOUTS)
            raise CheckpointError(
                f"a Whisper vocabulary has {known} tokens, this one has {n_vocab}; "
                "use a model whose vocabulary was not extended or cut"
            )
        eot, n_languages = _LAYOUTS[n_vocab]
        sot = eot + 1
        after = sot + 1 + n_languages
        codes = list(LANGUAGES)[:n_languages]
        return cls(
            n_vocab=n_vocab,
            eot=eot,
            sot=sot,
            languages=MappingProxyType({code: sot + 1 + place for place, code in enumerate(codes)}),
            translate=after,
            transcribe=after + 1,
            sot_lm=after + 2,
            sot_prev=after + 3,
            no_speech=after + 4,
            no_timestamps=after + 5,
            timestamp_begin=after + 6,
            is_multilingual=n_vocab != 51864,
        )

    @property
    def language_ids(self) -> tuple[int, ...]:
        """Ids of the language tokens in vocabulary order."""
        return tuple(self.languages.values())

    @property
    def control_ids(self) -> tuple[int, ...]:
        """Ids that are fed to the decoder but are never its answer: start, tasks, markers and no speech.

        Language tokens are in `language_ids`; `eot`, `no_timestamps` and timestamps are not here either.
        """
        return (self.sot, self.translate, self.transcribe, self.sot_lm, self.sot_prev, self.no_speech)

    def spellings(self) -> dict[str, int]:
        """Every special token as people write it, such as "<|en|>" or "<|1.08|>", to its id, in order."""
        return {
            "<|endoftext|>": self.eot,
            "<|startoftranscript|>": self.sot,
            **{f"<|{code}|>": token for code, token in self.languages.items()},
            "<|translate|>": self.translate,
            "<|transcribe|>": self.transcribe,
            "<|startoflm|>": self.sot_lm,
            "<|startofprev|>": self.sot_prev,
            "<|nospeech|>": self.no_speech,
            "<|notimestamps|>": self.no_timestamps,
            **{f"<|{step * 0.02:.2f}|>": self.timestamp_begin + step for step in range(self.n_timestamps)},
        }
