"""A short block that Ctrl-C does not interrupt half way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_interruption"]


@contextmanager
def deferred_interruption() -> Iterator[None]:
    """Delay a Ctrl-C until the block has ended. The block must be short.

    Python interrupts only the main thread, so in other threads nothing is delayed.
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
