"""What `transcribe` and `inspect` share, so that both do the same with the same options."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from typing import Annotated

from tyro.conf import FlagConversionOff, SuppressFixed, arg

from sasayaki.cli.loading import Command, ModelOptions
from sasayaki.errors import OptionError
from sasayaki.options import TEMPERATURES, TranscribeOptions

_LEAST_INCREMENT = 0.01


@dataclass(frozen=True, kw_only=True)
class TranscribingCommand(Command):
    """A command that transcribes recordings."""

    model: Annotated[ModelOptions, arg(name="")] = field(default_factory=ModelOptions)

    progress: bool | None = None
    """Whether to show a progress bar on stderr; None shows it on a terminal."""

    temperature_increment_on_fallback: float | None = 0.2
    """Step from a single `--temperature` up to 1.0, tried in turn; None or 0 tries that temperature alone."""

    # Options that are objects are fixed, and not shown.
    options: Annotated[TranscribeOptions, arg(name=""), FlagConversionOff, SuppressFixed] = field(
        default_factory=TranscribeOptions
    )

    def effective_options(self) -> TranscribeOptions:
        """The options in force, with the temperatures that openai/whisper's command line would try.

        Raises:
            OptionError: when the increment is negative, too small or not finite.
        """
        temperature, increment = self.options.temperature, self.temperature_increment_on_fallback
        if increment and not _LEAST_INCREMENT <= increment < math.inf:
            raise OptionError(
                f"temperature_increment_on_fallback must be None, 0 or a number of at least {_LEAST_INCREMENT}, "
                f"got {increment}"
            )
        if temperature == TEMPERATURES:
            temperature = TEMPERATURES[0]
        if not isinstance(temperature, float):
            return self.options
        return replace(self.options, temperature=_ladder(temperature, increment))

    def has_bar(self) -> bool:
        """Whether a progress bar is shown."""
        return sys.stderr.isatty() if self.progress is None else self.progress


def _ladder(start: float, increment: float | None) -> tuple[float, ...]:
    if not increment or start >= 1:
        return (start,)
    steps = int((1.0 - start) / increment + 1e-6)
    return tuple(round(start + step * increment, 6) for step in range(steps + 1))
