"""Some of the entries of a symmetric matrix as they would stand in order, without putting all in order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import ordered_results, usable_cores

__all__ = ["entries_in_order"]

# Smaller matrices are put in order at once.
_FEW_ITEMS = 200
# From this number of items on, several threads share the work.
_MANY_ITEMS = 1000
# A place is found between two entries of a sample. It is a share of all entries, so that neither putting it
# in order nor what lies between takes long.
_SHARE_OF_SAMPLE = 1 / 32
_LEAST_SAMPLE, _LARGEST_SAMPLE = 1024, 8192
# Rows that a thread looks at.
_ROWS = 64


def entries_in_order(symmetric: FloatArray, places: Sequence[int]) -> list[float]:
    """The entries below the diagonal that stand at some places if all of them are put in order.

    Parameters
    ----------
    symmetric : ndarray of float64, shape (n, n)
        Without NaN; only what is below the diagonal is looked at.
    places : sequence of int
        Between 0 and n (n - 1) / 2 - 1, near to each other, or it takes longer.

    Returns
    -------
    list of float

    Notes
    -----
    Two entries of a sample bracket the places. What is below the bracket is counted, and only what is in it
    is put in order; if the places are not in it after all, everything is.

    Examples
    --------
    >>> entries_in_order(np.array([[0.0, 7.0, 5.0], [7.0, 0.0, 6.0], [5.0, 6.0, 0.0]]), [0, 2])
    [5.0, 7.0]
    """
    n_items = symmetric.shape[0]
    if n_items >= _FEW_ITEMS:
        found = _bracketed(symmetric, min(places), max(places))
        if found is not None:
            below, bracket = found
            return _at(bracket, [place - below for place in places])
    return _at(symmetric[np.tri(n_items, k=-1, dtype=bool)], places)


def _at(entries: FloatArray, places: Sequence[int]) -> list[float]:
    parted = np.partition(entries, sorted(set(places)))
    return [float(parted[place]) for place in places]


def _bracketed(symmetric: FloatArray, first: int, last: int) -> tuple[int, FloatArray] | None:
    """How many entries lie below a bracket of the places, and those in it; None if it misses one of them."""
    n_items = symmetric.shape[0]
    n_entries = n_items * (n_items - 1) // 2
    sample = _sample(symmetric)
    # The standard deviation of a rank in it is at most half the root of its size: four of these.
    margin = int(2 * np.sqrt(sample.size))
    low = int(first / n_entries * sample.size) - margin
    high = int(last / n_entries * sample.size) + margin
    least = sample[low] if low >= 0 else -np.inf
    most = sample[high] if high < sample.size else np.inf
    n_rows = _ROWS if n_items >= _MANY_ITEMS else n_items
    # The entries of a square on the diagonal that are below it.
    below_diagonal = np.tri(n_rows, k=-1, dtype=bool)

    def look(top: int) -> tuple[int, list[FloatArray]]:
        rows = symmetric[top : top + n_rows]
        corner = rows[:, top : top + n_rows]
        count, inside = 0, []
        for part in (rows[:, :top], corner[below_diagonal[: corner.shape[0], : corner.shape[0]]]):
            under = part < least
            count += int(np.count_nonzero(under))
            inside.append(part[(part <= most) & ~under])
        return count, inside

    threads = usable_cores() if n_items >= _MANY_ITEMS else 1
    count, inside = 0, []
    for under, some in ordered_results(look, range(0, n_items, n_rows), threads):
        count += under
        inside += some
    bracket = np.concatenate(inside)
    return (count, bracket) if count <= first and last < count + bracket.size else None


def _sample(symmetric: FloatArray) -> FloatArray:
    """Entries below the diagonal, evenly from all of them, in order."""
    n_items = symmetric.shape[0]
    # Numbered row by row; those of row r begin at r (r - 1) / 2.
    n_entries = n_items * (n_items - 1) // 2
    size = min(_LARGEST_SAMPLE, max(_LEAST_SAMPLE, int(n_entries * _SHARE_OF_SAMPLE)))
    numbers = np.arange(size) * n_entries // size
    row = ((1 + np.sqrt(1 + 8.0 * numbers)) / 2).astype(np.int64)
    row -= row * (row - 1) // 2 > numbers
    row += row * (row + 1) // 2 <= numbers
    return np.sort(symmetric[row, numbers - row * (row - 1) // 2])
