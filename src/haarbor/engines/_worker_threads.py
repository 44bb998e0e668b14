"""Work on several cores whose result does not depend on how many there are."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import lru_cache
from typing import TypeVar

from haarbor.engines._workers import Workers
from haarbor.errors import SettingError
from haarbor.options import found_text, require_whole_number

__all__ = ["ordered_results", "thread_count", "usable_cores"]

# More than any machine has cores; beyond some thousands the system refuses to start them.
_MOST_THREADS = 1024

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def usable_cores() -> int:
    """Number of cores this process may use, or ``HAARBOR_NUM_THREADS`` where that is set.

    See Also
    --------
    haarbor.engines.thread_count : Threads that are used.
    """
    asked = os.environ.get("HAARBOR_NUM_THREADS")
    if asked is not None:
        # Checked for its length first, because Python refuses to read very long numbers.
        if not asked.isdecimal() or len(asked) > 9 or not 1 <= int(asked) <= _MOST_THREADS:
            raise SettingError(
                f"HAARBOR_NUM_THREADS must be a whole number in 1..{_MOST_THREADS}; "
                f"found {found_text(asked)}. Unset it, or set it to such a number."
            )
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(asked: int | None) -> int:
    """`asked`, or the number of usable cores if it is None.

    See Also
    --------
    haarbor.engines.usable_cores : Cores that may be used.
    """
    if asked is None:
        return usable_cores()
    return require_whole_number("threads", asked, 1, _MOST_THREADS)


@lru_cache(maxsize=4)
def _workers(threads: int, process: int) -> Workers:
    """Threads kept between calls, per process, because threads do not survive a fork."""
    return Workers(threads, f"haarbor-{process}")


def ordered_results(
    work: Callable[[_Task], _Result], tasks: Iterable[_Task], threads: int
) -> Iterator[_Result]:
    """Results of `work` in the order of `tasks`, at most ``2 * threads`` of them held at once.

    The work is compiled code that releases the interpreter lock, so threads suffice. Because the
    results come in task order, their sum is the same for any number of threads.
    """
    if threads == 1:
        yield from map(work, tasks)
        return
    workers = _workers(threads, os.getpid())
    pending: deque[Future[_Result]] = deque()
    try:
        for task in tasks:
            pending.append(workers.submit(work, task))
            if len(pending) >= 2 * threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
