"""The command line, one file per command."""

from haarbor.cli._main import main

__all__ = [
    "main",
]
