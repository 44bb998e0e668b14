"""The haarbor command."""

from __future__ import annotations

import sys

import typer

from haarbor.errors import HaarborError

__all__ = ["main"]

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command line; bad input or data is one line on stderr and exit code 1."""
    try:
        app()
    except HaarborError as error:
        typer.echo(f"haarbor: {error}", err=True)
        sys.exit(1)
