"""`sasayaki detect-language`: which language is spoken in the first 30 seconds of recordings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from sasayaki.cli.console import for_each, one_line, say, worst
from sasayaki.cli.inputs import check_files, check_input, expand, open_input
from sasayaki.cli.loading import Command, ModelOptions
from sasayaki.errors import OptionError
from sasayaki.option_values import parse_languages

if TYPE_CHECKING:
    from sasayaki.model import Whisper


@dataclass(frozen=True, kw_only=True)
class DetectLanguage(Command):
    """Detect the language of recordings: print file, language and probability, separated by tabs."""

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE…")]
    """Recordings in any format, folders of them, patterns such as `*.mp3`; - reads one from standard input."""

    model: Annotated[ModelOptions, arg(name="")] = field(default_factory=ModelOptions)

    languages: str | None = None
    """Languages to choose from, as codes or names, comma-separated; None allows all."""

    top: int = 1
    """Number of languages to print for each recording, the likeliest first."""

    def run(self) -> int:
        """Detect the language of all files with one model.

        Raises:
            SasayakiError: when nothing can be done at all: options or model cannot be used.
        """
        check_files(self.files)
        if self.top < 1:
            raise OptionError(f"top must be at least 1, got {self.top}")
        parse_languages(self.languages)
        ready: list[str] = []

        def check(file: str) -> None:
            for each in expand(file):
                check_input(each)
                ready.append(each)

        code = for_each(self.files, check, name=str, debug=self.debug)
        if not ready:
            return code
        model = self.model.load()
        return worst(code, for_each(ready, lambda file: self._detect(model, file), name=str, debug=self.debug))

    def _detect(self, model: Whisper, file: str) -> None:
        import sasayaki

        with open_input(file) as source:
            audio = sasayaki.pad_or_trim(sasayaki.load_audio(source))
        mel = sasayaki.log_mel_spectrogram(audio, model.dims.n_mels)
        _, probs = sasayaki.detect_language(model, mel, languages=self.languages)
        assert isinstance(probs, dict)  # a list comes only for a batch
        for code in sorted(probs, key=probs.__getitem__, reverse=True)[: self.top]:
            say(f"{one_line(file)}\t{code}\t{probs[code]:.3f}")
