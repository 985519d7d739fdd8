"""The exception tree: every error that sasayaki raises on purpose.

SasayakiError
├── OptionError (ValueError)        an option has a value that cannot be used
├── AudioError (ValueError)         a recording cannot be read or has the wrong form
├── CheckpointError                 a model file is damaged, incomplete or of an unknown format
│   └── ModelNotFoundError          no model of that name here, in the cache or on the hub
├── BackendError                    an engine is not installed or cannot run this model
├── StoppedError                    a transcription was cancelled, or took too long
├── OutputError                     a result cannot be written, or not be read back
└── TraceError                      a file is no trace, or one that this version cannot read

A message says what was expected, what came, and what to do.
"""

from functools import partial
from typing import Any


class SasayakiError(Exception):
    """Base of all errors raised on purpose; catch it to catch them all."""


class OptionError(SasayakiError, ValueError):
    """An option has a value that cannot be used; the message names the option."""


class AudioError(SasayakiError, ValueError):
    """A recording cannot be read, holds no audio, or has the wrong form."""


class CheckpointError(SasayakiError):
    """A model file is damaged, incomplete or of an unknown format."""


class ModelNotFoundError(CheckpointError):
    """No model of that name is installed, cached or known to the hub."""


class BackendError(SasayakiError):
    """An inference engine is not installed or cannot run the model."""


class StoppedError(SasayakiError):
    """A transcription ended before its time.

    Attributes:
        reason: `cancel` or `time_limit`.
        transcription: the segments that were final by then, as a `Transcription`; None when there was no time for any.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.transcription: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(StoppedError, reason=self.reason), self.args, self.__dict__


class OutputError(SasayakiError):
    """A result cannot be written where it was asked for, or a file holds none that can be read."""


class TraceError(SasayakiError):
    """A file is no trace, is damaged, or is of a version that cannot be read."""
