"""The same work on every head, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from haarbor.engines.worker_threads import usable_cores

__all__ = ["over_heads"]

_Result = TypeVar("_Result")


def over_heads(
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
        Called on the caller's thread.

    Returns
    -------
    list

    Examples
    --------
    >>> over_heads(lambda head: 10 * head, [2, 0, 1])
    [20, 0, 10]
    """
    # Threads of its own: the work may itself wait for the threads that share one sum among them.
    results: list[_Result] = []
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="haarbor-head") as pool:
        futures = [pool.submit(work, head) for head in heads]
        try:
            for done, future in enumerate(futures, start=1):
                results.append(future.result())
                if on_progress is not None:
                    on_progress(done, len(futures))
        finally:
            for future in futures:
                future.cancel()
    return results
