"""Where tables and progress are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["terminal"]

# A terminal may call itself 0 columns wide, in which nothing would be shown.
_LEAST_WIDTH = 40


def terminal(*, stderr: bool = False) -> Console:
    """Standard output or error, wide enough that something is seen."""
    from rich.console import Console

    shown = Console(stderr=stderr)
    return shown if shown.width >= _LEAST_WIDTH else Console(stderr=stderr, width=_LEAST_WIDTH)
