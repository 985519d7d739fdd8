"""A progress bar on stderr: elapsed and remaining time, and speed in times real time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sasayaki.cli.console import one_line

if TYPE_CHECKING:
    from rich.progress import Progress

Report = Callable[[float, float], None]
"""Takes the seconds of audio that are done and those there are in all."""


@contextmanager
def progress_bar(name: str, *, is_shown: bool) -> Iterator[Report | None]:
    """Show a bar while the block runs and give the function that moves it; None when no bar is shown."""
    if not is_shown:
        yield None
        return
    with _make_bar() as bar:
        task = bar.add_task(one_line(name), total=None, speed="")

        def report(done: float, total: float) -> None:
            elapsed = bar.tasks[0].elapsed
            speed = f"{done / elapsed:.1f}x real time" if elapsed and done else ""
            bar.update(task, completed=done, total=total, speed=speed)

        yield report


def _make_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%", markup=False),
        TimeElapsedColumn(),
        TextColumn("left", markup=False),
        TimeRemainingColumn(),
        TextColumn("{task.fields[speed]}", markup=False),
        console=Console(stderr=True),
        # Lines for a terminal go above the bar; lines for a file or a pipe must stay out of its way.
        redirect_stdout=sys.stdout.isatty(),
    )
