"""Progress bars on stderr, so that stdout stays clean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from haarbor.cli._kernels_ahead import kernels_ahead, start_compiling
from haarbor.cli._terminal import terminal
from haarbor.compilation_notice import compilation_notice
from haarbor.on_progress import OnProgress
from haarbor.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["shown_progress", "shown_steps"]

_COMPILING = "Compiling, the first time only: some seconds."


@contextmanager
def shown_progress(title: str, total: int | None) -> Iterator[OnProgress]:
    """Show one bar with elapsed and remaining time while the block runs; gives the function that moves it."""
    with _bars() as bars, _compiling(bars):
        task = bars.add_task(printable(title), total=total)

        def advance(_step: str, done: int, in_all: int | None) -> None:
            bars.update(task, completed=done, total=in_all)

        yield advance


@contextmanager
def shown_steps() -> Iterator[OnProgress]:
    """Show one bar per step, from when the step is first reported; gives the function that reports it."""
    with _bars() as bars, _compiling(bars):
        tasks: dict[str, TaskID] = {}

        def advance(step: str, done: int, total: int | None) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(printable(step), total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield advance


@contextmanager
def _compiling(bars: Progress) -> Iterator[None]:
    """Say so, once, when kernels have to be compiled, and compile some of them ahead."""
    with kernels_ahead() as started:

        def notice() -> None:
            bars.console.print(_COMPILING)
            start_compiling(started)

        with compilation_notice(notice):
            yield


def _bars() -> Progress:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        # Names of models are not markup.
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=terminal(stderr=True))
