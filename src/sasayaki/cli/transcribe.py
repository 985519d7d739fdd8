"""`sasayaki transcribe`: recordings to text on the terminal and to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagConversionOff, FlagCreatePairsOff, Positional, UseAppendAction, arg

from sasayaki.cli.console import for_each, note, one_line, say, worst
from sasayaki.cli.inputs import check_files, check_input, expand, open_input
from sasayaki.cli.outputs import ALL, Job, parse_formats, plan_jobs
from sasayaki.cli.progress import Report, progress_bar
from sasayaki.cli.transcribing import TranscribingCommand
from sasayaki.errors import OptionError
from sasayaki.option_values import check_time_limit
from sasayaki.options import TranscribeOptions, WriterOptions
from sasayaki.results import Segment
from sasayaki.writers import Output, format_timestamp, prepare_folder, with_channel

if TYPE_CHECKING:
    from sasayaki.model import SegmentStream


@dataclass(frozen=True, kw_only=True)
class Transcribe(TranscribingCommand):
    """Transcribe recordings: print the text as it is found; write files when a format or folder is given.

    Options may be spelled with - or _, as in openai/whisper. None, none and an empty value mean None; True,
    true, 1 and yes are true. Recordings of one run that have the same name get numbers: talk.srt, talk-2.srt.
    A file whose name starts with - is given after --.
    """

    files: Annotated[Positional[tuple[str, ...]], arg(metavar="FILE…")]
    """Recordings in any format, folders of them, patterns such as `talks/*.mp3`; - reads one from standard input.
    URLs need the extra `url`."""

    output_format: Annotated[UseAppendAction[tuple[str, ...]], arg(aliases=["-f"])] = ()
    """Files to write: `txt`, `json`, `srt`, `vtt`, `tsv`, `lrc`, `ass`, `csv` (of words), `paragraphs`, `audacity`
    (labels), `all`; give it more than once or with commas. Without it none are written, or all where
    `--output_dir` is given."""

    output_dir: Annotated[str | None, arg(aliases=["-o"])] = None
    """Folder for the files, made if it is missing; None means the current one."""

    verbose: bool | None = True
    """True prints each segment with its times, False only shows progress, None is silent."""

    quiet: Annotated[bool, FlagCreatePairsOff, arg(aliases=["-q"])] = False
    """Print nothing but errors, the same as `--verbose None`."""

    resume: Annotated[bool, FlagCreatePairsOff] = False
    """Go on after a crash or Ctrl-C: recordings whose files are written are left out, others go on behind their last
    segment. Until its files are written, a recording has a journal beside them (`.talk.sasayaki`)."""

    time_limit: float | None = None
    """Seconds that a recording may take, from its reading on; the next one follows, and `--resume` goes on. None sets
    no limit."""

    writing: Annotated[WriterOptions, arg(name=""), FlagConversionOff] = field(default_factory=WriterOptions)

    def run(self) -> int:
        """Transcribe all files with one model; with `batch_size` above 1 the windows of neighbours side by side.

        Raises:
            SasayakiError: when nothing can be done at all: options, folder or model cannot be used.
        """
        parse_formats(self.output_format)
        check_time_limit(self.time_limit)
        check_files(self.files)
        options = self.effective_options()
        if self.writing.divides_segments and not options.word_timestamps:
            options = replace(options, word_timestamps=True)
        files: list[str] = []
        codes = [for_each(self.files, lambda file: files.extend(expand(file)), name=str, debug=self.debug)]
        ready: list[Job] = []

        def prepare(job: Job) -> None:
            check_input(job.file)
            job.check()
            if self.resume and job.is_done:
                note(f"{job.file}: done already")
                return
            job.begin(resume=self.resume)
            ready.append(job)

        codes.append(for_each(self._jobs(files), prepare, name=_file, debug=self.debug))
        if ready:
            codes.append(self._transcribe(ready, options, has_titles=max(len(files), len(self.files)) > 1))
        return worst(*codes)

    def _jobs(self, files: Sequence[str]) -> list[Job]:
        formats = parse_formats(self.output_format or ((ALL,) if self.output_dir else ()))
        if self.resume and not formats:
            raise OptionError("resume goes on with files; say which with output_format or output_dir")
        if self.writing != WriterOptions() and not formats:
            note("options of files have no effect without output_format or output_dir")
        folder = prepare_folder(self.output_dir or ".") if formats else Path()
        jobs = plan_jobs(files, formats, folder)
        for job in jobs:
            if job.is_renamed and formats:
                note(f"{job.file}: its files are called {job.name}.*, as another recording has the same name")
        return jobs

    def _transcribe(self, jobs: Sequence[Job], options: TranscribeOptions, *, has_titles: bool) -> int:
        """Transcribe all with one model, `batch_size` windows at a time, and give the exit code."""

        def begin(work: _Work, stream: Callable[..., SegmentStream]) -> SegmentStream:
            return stream(
                work.held.enter_context(open_input(work.job.file)),
                progress=work.report if self.has_bar() else None,
                time_limit=self.time_limit,
                journal=work.job.journal,
                options=options,
            )

        def write(running: tuple[_Work, SegmentStream | Exception]) -> None:
            work, stream = running
            with work.held:
                if isinstance(stream, Exception):
                    raise stream
                work.show = work.held.enter_context(progress_bar(work.job.file, is_shown=self.has_bar()))
                self._write(work.job, stream, has_titles)

        works = map(_Work, jobs)
        model = self.model.load()
        with closing(model.stream_many(works, begin, n_windows=model.batch_size(options))) as running:
            return for_each(running, write, name=lambda each: each[0].job.file, debug=self.debug)

    def _write(self, job: Job, stream: SegmentStream, has_title: bool) -> None:
        """Print the segments and write them to the files as they come."""
        with ExitStack() as held:
            outputs = [held.enter_context(Output.open(target, self.writing)) for target in job.targets]
            if self._prints and has_title:
                say(f"{one_line(job.file)}:")
            if self._prints and stream.language_probs is not None:
                note(f"{job.file}: language {stream.language}")
            for segment in stream:
                for output in outputs:
                    output.write(segment)
                if self._prints:
                    _print(segment)
            transcription = stream.collect()
            for output in outputs:
                output.commit(transcription)
            job.end()

    @property
    def _prints(self) -> bool:
        return bool(self.verbose) and not self.quiet

    def has_bar(self) -> bool:
        """Whether a progress bar is shown: not beside silence, unless it is asked for."""
        is_silent = self.verbose is None or self.quiet
        return super().has_bar() and (not is_silent or self.progress is True)


@dataclass
class _Work:
    """A recording that is opened, maybe before it is its turn to be written.

    Attributes:
        job: the recording and its files.
        held: what is open for it.
        show: moves its progress bar, once there is one.
    """

    job: Job
    held: ExitStack = field(default_factory=ExitStack)
    show: Report | None = None

    def report(self, done: float, total: float) -> None:
        """Take in how far the transcription is."""
        if self.show:
            self.show(done, total)


def _print(segment: Segment) -> None:
    start, end = format_timestamp(segment.start), format_timestamp(segment.end)
    say(f"[{start} --> {end}]  {one_line(with_channel(segment).text)}")


def _file(job: Job) -> str:
    return job.file
