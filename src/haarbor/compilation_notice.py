"""Who is told that kernels are being compiled, which makes the first call on a machine slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["compilation_notice", "notify_compilation"]

_waiting: list[Callable[[], None]] = []


@contextmanager
def compilation_notice(notice: Callable[[], None]) -> Iterator[None]:
    """Call a function, once at most, when a kernel has to be compiled while the block runs.

    Parameters
    ----------
    notice : function without arguments
        Kernels whose code is on disk already are not compiled, and nobody is told.
    """
    _waiting.append(notice)
    try:
        yield
    finally:
        if notice in _waiting:
            _waiting.remove(notice)


def notify_compilation() -> None:
    """Tell everybody who is waiting for it that a kernel is about to be compiled."""
    while _waiting:
        _waiting.pop()()
