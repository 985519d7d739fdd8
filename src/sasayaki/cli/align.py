"""`sasayaki align`: times for a text that is known."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, UseAppendAction, arg

from sasayaki.cli.console import DONE, one_line, say
from sasayaki.cli.inputs import STDIN, check_input, open_input
from sasayaki.cli.loading import Command, ModelOptions
from sasayaki.cli.outputs import parse_formats, plan_jobs
from sasayaki.cli.progress import progress_bar
from sasayaki.errors import OptionError
from sasayaki.languages import to_language_code
from sasayaki.option_values import check_time_limit
from sasayaki.writers import prepare_folder, write


@dataclass(frozen=True, kw_only=True)
class Align(Command):
    """Find when each word of a known text is said: print start, end, probability and word, separated by tabs.

    Words that are not found have - for start and end. Files are written as by `sasayaki transcribe`, with one
    segment for each line or sentence of the text.
    """

    audio: Annotated[Positional[str], arg(metavar="AUDIO")]
    """Recording in any format; - reads it from standard input."""

    text: Annotated[Positional[str], arg(metavar="TEXT")]
    """What is said; @talk.txt reads it from a file, @- from standard input."""

    model: Annotated[ModelOptions, arg(name="")] = field(default_factory=ModelOptions)

    language: str | None = None
    """Code or name of the language; None detects it."""

    progress: bool | None = None
    """Whether to show a progress bar on stderr; None shows it on a terminal."""

    time_limit: float | None = None
    """Seconds that it may take; None sets no limit."""

    output_format: Annotated[UseAppendAction[tuple[str, ...]], arg(aliases=["-f"])] = ()
    """Files to write, such as `srt` or `json`; give it more than once or with commas."""

    output_dir: Annotated[str, arg(aliases=["-o"])] = "."
    """Folder for the files, made if it is missing."""

    def run(self) -> int:
        """Align, print, then write.

        Raises:
            SasayakiError: when the recording, the text, the model or a file to write cannot be used.
        """
        formats = parse_formats(self.output_format)
        check_time_limit(self.time_limit)
        if self.language is not None:
            to_language_code(self.language)
        check_input(self.audio)
        text = self._read_text()
        if not text.strip():
            raise OptionError("text must be what is said, got none; give the words, or @ and the name of a file")
        (job,) = plan_jobs([self.audio], formats, prepare_folder(self.output_dir) if formats else Path())
        job.check()
        if self.text.startswith("@") and any(
            os.path.realpath(each) == os.path.realpath(self.text[1:]) for each in job.targets
        ):
            raise OptionError(f"{self.text[1:]} would be written over; choose another output_dir or output_format")
        model = self.model.load()
        is_shown = sys.stderr.isatty() if self.progress is None else self.progress
        with open_input(self.audio) as source, progress_bar(self.audio, is_shown=is_shown) as report:
            alignment = model.align(source, text, self.language, progress=report, time_limit=self.time_limit)
        for word in alignment.words:
            start, end = ("-" if time is None else f"{time:.2f}" for time in (word.start, word.end))
            say(f"{start}\t{end}\t{word.probability:.3f}\t{one_line(word.word.strip())}")
        for target in job.targets:
            write(alignment.to_transcription(), target)
        return DONE

    def _read_text(self) -> str:
        if not self.text.startswith("@"):
            return self.text
        name = self.text[1:]
        if not name:
            raise OptionError("text must be words, or @ and the name of a UTF-8 file; got @ without a name")
        if name == self.audio == STDIN:
            raise OptionError("standard input can be the recording or its text, not both")
        try:
            if name == STDIN and sys.stdin is None:
                raise OptionError("expected the text on standard input, which is closed")
            data = sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
            return data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(
                f"text must be words, or @ and the name of a UTF-8 file; cannot read {name}: {error}"
            ) from error
