"""What a command says before it begins something slow."""

from __future__ import annotations

import typer

from haarbor.printable import printable

__all__ = ["say"]


def say(line: str) -> None:
    """Print a line on stderr at once: whoever waits sees that the command works, also through a pipe."""
    typer.echo(printable(line), err=True)
