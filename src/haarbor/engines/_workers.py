"""Threads that take work from one queue and do not keep the process from ending."""

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
    """Threads that share one queue of work.

    An interrupt may come at any moment, even while threads are being started. The pool of the standard
    library can then lose threads that wait for work for ever, and the process waits for them. The
    threads here are daemons, for which the process does not wait.

    Parameters
    ----------
    threads : int
    name : str
        Name of the threads; each has a number appended.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        # Threads refer to the queue and not to this object, so they end when it is garbage-collected.
        self._end = weakref.finalize(self, _send_home, self._queue, threads)
        self._end.atexit = False
        for number in range(threads):
            threading.Thread(
                target=_take_work, args=(self._queue,), name=f"{name}-{number}", daemon=True
            ).start()

    def submit(self, work: Callable[[_Task], _Result], task: _Task) -> Future[_Result]:
        """Let the next free thread call `work` on `task`."""
        future: Future[_Result] = Future()
        # In the caller's context, so that its settings hold, such as numpy warnings switched off.
        self._queue.put((future, copy_context(), work, task))
        return future

    def close(self) -> None:
        """Let the threads end once everything submitted is done; returns at once."""
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
        # So that a waiting thread keeps no arrays alive.
        del item, future, context, work, task
