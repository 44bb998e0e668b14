"""Progress bars on stderr, so that stdout stays clean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["shown_progress"]


@contextmanager
def shown_progress(title: str, total: int | None) -> Iterator[Callable[[int, int | None], None]]:
    """Bar with time gone and time left while the block runs; gives the function that moves it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(title, total=total)

        def advance(done: int, in_all: int | None) -> None:
            bars.update(task, completed=done, total=in_all)

        yield advance
