"""`sasayaki transcribe`: recordings to text on the terminal and to files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagConversionOff, Positional, UseAppendAction, arg

from sasayaki.cli.console import for_each, note, one_line, say, worst
from sasayaki.cli.inputs import check_files, check_input, read_input
from sasayaki.cli.outputs import ALL, Job, parse_formats, plan_jobs
from sasayaki.cli.progress import Report, progress_bar
from sasayaki.cli.transcribing import TranscribingCommand
from sasayaki.options import TranscribeOptions, WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers import format_timestamp, prepare_folder

if TYPE_CHECKING:
    from sasayaki.model import Whisper


@dataclass(frozen=True, kw_only=True)
class Transcribe(TranscribingCommand):
    """Transcribe recordings: print the text as it is found; write files when a format or folder is given.

    Options may be spelled with - or _, as in openai/whisper. None, none and an empty value mean None; True,
    true, 1 and yes are true. Recordings of one run that have the same name get numbers: talk.srt, talk-2.srt.
    A file whose name starts with - is given after --.
    """

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE…")]
    """Recordings in any format; - reads one from standard input."""

    output_format: Annotated[UseAppendAction[tuple[str, ...]], arg(aliases=["-f"])] = ()
    """Files to write: `txt`, `json`, `srt`, `vtt`, `tsv`, `lrc`, `ass`, `csv` (of words), `paragraphs`, `audacity`
    (labels), `all`; give it more than once or with commas. Without it none are written, or all where
    `--output_dir` is given."""

    output_dir: Annotated[str | None, arg(aliases=["-o"])] = None
    """Folder for the files, made if it is missing; None means the current one."""

    verbose: bool | None = True
    """True prints each segment with its times, False only shows progress, None is silent."""

    writing: Annotated[WriterOptions, arg(name=""), FlagConversionOff] = field(default_factory=WriterOptions)

    def run(self) -> int:
        """Transcribe all files with one model.

        Raises:
            SasayakiError: when nothing can be done at all: options, folder or model cannot be used.
        """
        check_files(self.files)
        options = self.effective_options()
        jobs = self._jobs()
        ready: list[Job] = []

        def check(job: Job) -> None:
            check_input(job.file)
            job.check()
            ready.append(job)

        code = for_each(jobs, check, name=_file, debug=self.debug)
        if not ready:
            return code
        model = self.model.load()
        return worst(
            code,
            for_each(ready, lambda job: self._transcribe(model, job, options), name=_file, debug=self.debug),
        )

    def _jobs(self) -> list[Job]:
        formats = parse_formats(self.output_format or ((ALL,) if self.output_dir else ()))
        folder = prepare_folder(self.output_dir or ".") if formats else Path()
        jobs = plan_jobs(self.files, formats, folder)
        for job in jobs:
            if job.is_renamed and formats:
                note(f"{job.file}: its files are called {job.name}.*, as another recording has the same name")
        return jobs

    def _transcribe(self, model: Whisper, job: Job, options: TranscribeOptions) -> None:
        with progress_bar(job.file, is_shown=self.has_bar()) as report:
            transcription = self._collect(model, job.file, options, report)
        job.write(transcription, self.writing)

    def _collect(self, model: Whisper, file: str, options: TranscribeOptions, report: Report | None) -> Transcription:
        """Print the segments as they come, and give the whole."""
        stream = model.stream(read_input(file), progress=report, options=options)
        if self.verbose:
            if len(self.files) > 1:
                say(f"{one_line(file)}:")
            if stream.language_probs is not None:
                note(f"{file}: language {stream.language}")
            for segment in stream:
                _print(segment)
        return stream.collect()

    def has_bar(self) -> bool:
        """Whether a progress bar is shown: not beside silence, unless it is asked for."""
        return super().has_bar() and (self.verbose is not None or self.progress is True)


def _print(segment: Segment) -> None:
    start, end = format_timestamp(segment.start), format_timestamp(segment.end)
    say(f"[{start} --> {end}]  {one_line(segment.text)}")


def _file(job: Job) -> str:
    return job.file
