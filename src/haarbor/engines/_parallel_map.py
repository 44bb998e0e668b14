"""The same work on every head, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from haarbor.engines._worker_threads import usable_cores
from haarbor.engines._workers import Workers
from haarbor.on_progress import OnProgress

__all__ = ["parallel_map"]

_Result = TypeVar("_Result")


def parallel_map(
    work: Callable[[int], _Result],
    heads: Sequence[int],
    on_progress: OnProgress | None = None,
    *,
    step: str = "heads",
) -> list[_Result]:
    """Results of `work` on each head, in the order of `heads`.

    Parameters
    ----------
    work : function of a head
        Its result must not depend on the other heads.
    heads : sequence of int
    on_progress : function of (step, done, total), optional
        Called on the caller's thread.
    step : str, default "heads"
        What progress is told of.

    Returns
    -------
    list

    Examples
    --------
    >>> parallel_map(lambda head: 10 * head, [2, 0, 1])
    [20, 0, 10]
    """
    # Threads of its own: the work may itself wait for the threads that share one sum among them.
    workers = Workers(usable_cores(), "haarbor-head")
    futures: list[Future[_Result]] = []
    results: list[_Result] = []
    try:
        for head in heads:
            futures.append(workers.submit(work, head))
        for done, future in enumerate(futures, start=1):
            results.append(future.result())
            if on_progress is not None:
                on_progress(step, done, len(futures))
    finally:
        # After an error or an interrupt what has not begun is not done, and what has is not waited for.
        for future in futures:
            future.cancel()
        workers.close()
    return results
