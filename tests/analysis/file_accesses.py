"""How often files and folders of a run are opened, whoever does it."""

import os
import sys
from contextlib import contextmanager

_counting = None


def _count(event, arguments):
    if _counting is None or event not in ("open", "os.scandir", "os.listdir"):
        return
    root, counts = _counting
    if isinstance(arguments[0], str | os.PathLike) and os.fspath(arguments[0]).startswith(root):
        counts[event] = counts.get(event, 0) + 1


sys.addaudithook(_count)


@contextmanager
def file_accesses(root):
    """Counts by kind of what is opened or listed below `root` while the block runs."""
    global _counting
    counts = {}
    _counting = (os.fspath(root), counts)
    try:
        yield counts
    finally:
        _counting = None
