"""The console on which tables and progress are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["terminal"]

# A terminal may report a width of 0 columns, at which nothing would be shown.
_LEAST_WIDTH = 40


def terminal(*, stderr: bool = False) -> Console:
    """Console on standard output or error, wide enough that something is shown."""
    from rich.console import Console

    shown = Console(stderr=stderr)
    return shown if shown.width >= _LEAST_WIDTH else Console(stderr=stderr, width=_LEAST_WIDTH)
