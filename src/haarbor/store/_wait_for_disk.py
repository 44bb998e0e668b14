"""Waiting until files and folders lie on the disk."""

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["wait_for_disk"]

# A disk writes what it is asked for at the same time in one go: many waits take hardly longer than one.
_AT_ONCE = 8


def wait_for_disk(paths: Sequence[Path]) -> None:
    """Return when what was written to these files and folders before outlives a loss of power."""
    if len(paths) < 2:
        for path in paths:
            _wait(path)
        return
    # Whoever only reads a run need not load this.
    from haarbor.engines import ordered_results

    for _done in ordered_results(_wait, paths, _AT_ONCE):
        pass


def _wait(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
