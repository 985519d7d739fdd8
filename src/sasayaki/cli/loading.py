"""What commands share: the base of all, and the options that choose and load a model."""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tyro.conf import FlagCreatePairsOff, arg

from sasayaki.errors import OptionError

if TYPE_CHECKING:
    from sasayaki.model import Whisper


@dataclass(frozen=True, kw_only=True)
class Command(ABC):
    """A command with its options."""

    debug: Annotated[bool, FlagCreatePairsOff] = False
    """Show the traceback of an error."""

    @abstractmethod
    def run(self) -> int:
        """Do it, and give the exit code."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model to load, and how it computes."""

    model: Annotated[str, arg(aliases=["-m"])] = "base"
    """Name (`sasayaki models` lists them), hub id, or path of a model file or folder."""

    model_dir: str | None = None
    """Folder of downloaded models, made when one is downloaded; None means the cache of Hugging Face."""

    device: str = "auto"
    """Where to compute: `auto`, `cpu`, `cuda`, …"""

    backend: str = "auto"
    """Engine that computes: `auto`, `openvino` or `torch`."""

    precision: str = "auto"
    """Number format: `float32`, `bfloat16`, `int8`, `float16`; `auto` takes the fastest that keeps the words."""

    threads: int | None = None
    """Number of processor threads; None or 0 takes one for each core that the process may use."""

    local_files_only: Annotated[bool, FlagCreatePairsOff] = False
    """Never ask the network for a model."""

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 0:
            raise OptionError(f"threads must be None, 0 or a number above 0, got {self.threads}")
        if self.model_dir and os.path.exists(self.model_dir) and not os.path.isdir(self.model_dir):
            raise OptionError(f"model_dir must be a folder, got the file {self.model_dir}; --model takes a file")

    def load(self) -> Whisper:
        """Load the model.

        Raises:
            SasayakiError: when there is no such model, or it cannot be loaded that way.
        """
        import sasayaki

        return sasayaki.load_model(
            self.model,
            self.device,
            self.model_dir,
            backend=self.backend,
            precision=self.precision,
            threads=self.threads or None,
            local_files_only=self.local_files_only,
            show_progress=sys.stderr.isatty(),
        )
