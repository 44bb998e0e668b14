"""Ctrl-C that waits for the end of something that should be whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_interruption"]


@contextmanager
def deferred_interruption() -> Iterator[None]:
    """Hold a Ctrl-C back until the block has ended, for moments at most.

    Only the main thread is interrupted in Python; in others nothing has to be held back.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting:
            before(*waiting[0])
