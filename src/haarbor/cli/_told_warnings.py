"""Warnings as the command line shows them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haarbor.errors import HaarborWarning
from haarbor.printable import printable

__all__ = ["told_warnings"]


@contextmanager
def told_warnings() -> Iterator[None]:
    """Show warnings of Haarbor as one line on stderr, without the place in the code that gave them."""
    with warnings.catch_warnings():
        warnings.showwarning = _tell
        yield


def _tell(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_more: Any, **_options: Any
) -> None:
    if issubclass(category, HaarborWarning):
        sys.stderr.write(f"haarbor: {printable(message)}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
