"""The command line, one file a command."""

from haarbor.cli._main import main

__all__ = [
    "main",
]
