"""The command line, one file a command."""

from haarbor.cli.main import main

__all__ = ["main"]
