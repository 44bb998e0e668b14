"""Threads that take work from one queue and never keep the process from ending."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["Workers"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
_Item = tuple[Future[Any], Context, Callable[[Any], Any], Any]


class Workers:
    """Some threads with one queue.

    An interrupt may come at any moment, also while threads are being started. Those of the standard
    library's pool that it then loses sight of wait for work for ever, and the process waits for them;
    these are daemons, for which nothing waits.

    Parameters
    ----------
    threads : int
    name : str
        Of the threads, with a number after it.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        # Threads hold the queue and not this object: when it is forgotten they end.
        self._end = weakref.finalize(self, _send_home, self._queue, threads)
        self._end.atexit = False
        for number in range(threads):
            threading.Thread(
                target=_take_work, args=(self._queue,), name=f"{name}-{number}", daemon=True
            ).start()

    def submit(self, work: Callable[[_Task], _Result], task: _Task) -> Future[_Result]:
        """Have `work` done on `task` by the next thread that is free."""
        future: Future[_Result] = Future()
        # With the caller's context: what it has switched off, such as numpy's warnings, stays off.
        self._queue.put((future, copy_context(), work, task))
        return future

    def close(self) -> None:
        """Let the threads end after what they are doing and what was submitted; does not wait."""
        self._end()


def _send_home(queue: SimpleQueue[_Item | None], threads: int) -> None:
    for _ in range(threads):
        queue.put(None)


def _take_work(queue: SimpleQueue[_Item | None]) -> None:
    while (item := queue.get()) is not None:
        future, context, work, task = item
        if future.set_running_or_notify_cancel():
            try:
                result = context.run(work, task)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        # A thread that waits keeps nothing alive.
        del item, future, context, work, task
