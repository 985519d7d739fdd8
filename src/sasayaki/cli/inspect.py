"""`sasayaki inspect`: a recording and every decision of its transcription, as a page to look at and a file to read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from sasayaki.cli.console import DONE, say
from sasayaki.cli.inputs import check_input, open_input
from sasayaki.cli.outputs import stem
from sasayaki.cli.progress import progress_bar
from sasayaki.cli.transcribing import TranscribingCommand
from sasayaki.errors import OptionError
from sasayaki.writers import check_target, prepare_folder


@dataclass(frozen=True, kw_only=True)
class Inspect(TranscribingCommand):
    """Transcribe a recording and write a page that shows why each token was chosen; print the name of the page.

    The page is one file that opens offline in any current browser. Options of the transcription are those of
    `sasayaki transcribe`, and so is its text.
    """

    file: Annotated[Positional[str], arg(metavar="FILE")]
    """Recording in any format; - reads one from standard input. URLs need the extra `url`."""

    html: str | None = None
    """File for the page; None means the recording's name with .html, in the current folder."""

    trace: str | None = None
    """File for the trace as lines of JSON, which `sasayaki.Trace.read` reads; None writes none."""

    def run(self) -> int:
        """Transcribe, then write.

        Raises:
            SasayakiError: when the recording, the model, the options or a file to write cannot be used.
        """
        check_input(self.file)
        options = self.effective_options()
        page = Path(self.html or f"{stem(self.file)}.html")
        self._check_targets(page)
        import sasayaki

        model = self.model.load()
        with open_input(self.file) as source:
            samples = sasayaki.load_audio(source)
        trace = sasayaki.Trace()
        with progress_bar(self.file, is_shown=self.has_bar()) as report:
            model.transcribe(samples, progress=report, trace=trace, options=options)
        if self.trace:
            trace.write(self.trace)
        from sasayaki.inspect import write_page

        name = os.path.basename(self.file) if os.path.exists(self.file) else stem(self.file)
        write_page(page, trace, samples, name=name)
        say(str(page))
        return DONE

    def _check_targets(self, page: Path) -> None:
        """See that page and trace can be written, and over nothing that was read, before the work begins."""
        taken = {os.path.realpath(self.file): f"the recording {self.file}"}
        for option, target in (("html", page), ("trace", Path(self.trace) if self.trace else None)):
            if target is None:
                continue
            prepare_folder(target.parent)
            check_target(target)
            place = os.path.realpath(target)
            if place in taken:
                raise OptionError(f"{option} must be a file of its own, got {taken[place]}")
            taken[place] = f"{target}, the file of html"
