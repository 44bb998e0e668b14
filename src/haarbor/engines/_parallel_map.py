"""The same work on every head, several heads at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from haarbor.engines._worker_threads import usable_cores
from haarbor.engines._workers import Workers

__all__ = ["parallel_map"]

_Result = TypeVar("_Result")


def parallel_map(
    work: Callable[[int], _Result],
    heads: Sequence[int],
    on_progress: Callable[[int, int], None] | None = None,
) -> list[_Result]:
    """Results of `work` on each head, in the order of `heads`.

    Parameters
    ----------
    work : function of a head
        Its result must not depend on the other heads.
    heads : sequence of int
    on_progress : function of (heads done, heads in all), optional
        Called in the thread of the caller.

    Returns
    -------
    list

    Examples
    --------
    >>> parallel_map(lambda head: 10 * head, [2, 0, 1])
    [20, 0, 10]
    """
    # With threads of its own, because the work on a head may wait for the threads of `ordered_results`.
    workers = Workers(usable_cores(), "haarbor-head")
    futures: list[Future[_Result]] = []
    results: list[_Result] = []
    try:
        for head in heads:
            futures.append(workers.submit(work, head))
        for done, future in enumerate(futures, start=1):
            results.append(future.result())
            if on_progress is not None:
                on_progress(done, len(futures))
    finally:
        # After an error or an interrupt, heads not yet begun are dropped, and the others not waited for.
        for future in futures:
            future.cancel()
        workers.close()
    return results
