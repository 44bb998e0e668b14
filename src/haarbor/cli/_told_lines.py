"""Sentences on standard output: one a line through a pipe, wrapped between words on a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

import typer

from haarbor.printable import printable

__all__ = ["tell_lines"]

# A terminal may report a width of 0 columns.
_LEAST_WIDTH = 40


def tell_lines(lines: Sequence[str]) -> None:
    """Print sentences; indented lines and those with a next command hold paths and are left whole.

    Parameters
    ----------
    lines : sequence of str
    """
    width = max(_LEAST_WIDTH, shutil.get_terminal_size().columns)
    for line in map(printable, lines):
        if sys.stdout.isatty() and not line.startswith(("  ", "Next: ")):
            line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        typer.echo(line)
