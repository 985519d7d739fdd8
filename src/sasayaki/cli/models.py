"""`sasayaki models`: what can be loaded here, and from where."""

from __future__ import annotations

from dataclasses import dataclass

from sasayaki.cli.console import DONE, say
from sasayaki.cli.loading import Command


@dataclass(frozen=True, kw_only=True)
class Models(Command):
    """List models: name, source, size, and package, path or hub id. Those of the hub load on use."""

    def run(self) -> int:
        """Print the table."""
        from sasayaki.model import list_models

        rows = [(model.name, model.source, _size(model.size_bytes), model.where) for model in list_models()]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            say("  ".join(cells).rstrip())
        return DONE


def _size(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else f"{size_bytes / 1e6:.0f} MB"
