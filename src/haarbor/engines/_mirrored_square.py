"""A symmetric matrix from what is above its diagonal."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._worker_threads import ordered_results, usable_cores

__all__ = ["mirror"]

# Rows of a strip: both sides of what is copied stay in cache, and no copy of the whole matrix is made.
_STRIP = 128
# From this number of rows on, several threads share the work.
_MANY_ROWS = 1000


def mirror(square: FloatArray) -> None:
    """Zero the diagonal and copy what is above it to below, in place.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[9.0, 1.0, 2.0], [np.nan, 9.0, 3.0], [9.0, 9.0, 9.0]])
    >>> mirror(square)
    >>> square.tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
    """
    n_rows = square.shape[0]

    def copy(top: int) -> None:
        strip = slice(top, min(top + _STRIP, n_rows))
        for left in range(0, top, _STRIP):
            square[strip, left : left + _STRIP] = square[left : left + _STRIP, strip].T
        above = np.triu(square[strip, strip], 1)
        square[strip, strip] = above + above.T

    threads = usable_cores() if n_rows >= _MANY_ROWS else 1
    # The last strips are the longest.
    for _ in ordered_results(copy, range(0, n_rows, _STRIP)[::-1], threads):
        pass
