"""Files that grow while a recording is transcribed.

    with Output.open("talk.srt", options) as output:   # a passing file beside talk.srt
        for segment in stream:
            output.write(segment)                      # what is final of it goes to the file at once
        output.commit(stream.collect())                # the rest, and the name talk.srt

Without `commit` nothing is left: an error, Ctrl-C and `abort` remove the passing file, and an older `talk.srt` stays as
it was. After the process was killed, the passing file (`.sasayaki-….tmp`) holds every segment up to then.

The file is the same, byte for byte, as that of `write(transcription, path, options)`. Each segment is written as soon
as nothing that comes after can change how it looks: at once for most formats; for captions that run over several
segments, a few cues later.
"""

from __future__ import annotations

import os
from types import TracebackType

from sasayaki.options import WriterOptions
from sasayaki.results import Segment, Transcription
from sasayaki.writers.composer import Composer
from sasayaki.writers.files import PassingFile
from sasayaki.writers.registry import format_of


class Output:
    """A file that takes segments one by one. Make one with `open`.

    Raises:
        OutputError: from every method but `abort`, when the file cannot be written.
    """

    def __init__(self, composer: Composer, file: PassingFile) -> None:
        self._composer = composer
        self._file = file
        try:
            file.write(composer.begin())
        except BaseException:
            file.abort()
            raise

    @classmethod
    def open(cls, path: str | os.PathLike[str], options: WriterOptions | None = None) -> Output:
        """Begin a file in the format that its ending names.

        Raises:
            OutputError: when the ending names no format or the file cannot be written.
        """
        composer = format_of(path).compose(options or WriterOptions())
        return cls(composer, PassingFile(path))

    def write(self, segment: Segment) -> None:
        """Take the next segment."""
        self._file.write(self._composer.add(segment))

    def commit(self, transcription: Transcription) -> None:
        """Write what is left and give the file its name.

        Args:
            transcription: the whole whose segments were written.
        """
        self._file.write(self._composer.end(transcription))
        self._file.commit()

    def abort(self) -> None:
        """Remove what was written, unless it was committed."""
        self._file.abort()

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()


def write(transcription: Transcription, path: str | os.PathLike[str], options: WriterOptions | None = None) -> None:
    """Write a file in the format that its ending names (`talk.srt`), whole or not at all.

    Raises:
        OutputError: when the ending names no format or the file cannot be written.
    """
    with Output.open(path, options) as output:
        for segment in transcription.segments:
            output.write(segment)
        output.commit(transcription)
