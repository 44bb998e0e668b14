"""Levels of a partition tree, checked, with folders numbered in one standard way."""

from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import IntArray, plain_array
from haarbor.errors import ShapeError, TreeError
from haarbor.memory import require_memory

__all__ = ["canonical_levels"]

# Levels may repeat, but a number of repetitions without limit would fill the memory.
_MOST_REPEATED = 10_000


def canonical_levels(levels: npt.ArrayLike) -> IntArray:
    """Partitions of a tree, with the folders of every level numbered in the order of their smallest items.

    Parameters
    ----------
    levels : array_like of int, shape (n_levels, n)
        Any whole numbers; items with the same number on a level share a folder.

    Raises
    ------
    TreeError
        If these are not the levels of a partition tree.

    Examples
    --------
    >>> canonical_levels([[7, 7, 7], [5, -2, 5], [9, 8, 7]]).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 2]]
    """
    try:
        raw = plain_array(levels, "the array of levels")
    except ShapeError as error:
        raise TreeError(f"levels must be a rectangle of folder numbers; {error}") from None
    if raw.ndim != 2 or 0 in raw.shape:
        raise TreeError(
            f"levels must have shape (n_levels, n_items), neither zero; found shape {raw.shape}. "
            "Pass one row per level and one column per item."
        )
    if raw.dtype.kind not in "iu":
        raise TreeError(
            f"levels must hold folder numbers, integers; found dtype {raw.dtype}. Round them first."
        )
    n_levels, n_items = raw.shape
    if n_levels > n_items + _MOST_REPEATED:
        raise TreeError(
            f"a tree on {n_items} items has at most {n_items} different levels; found {n_levels}. "
            "Leave out the repeated rows."
        )
    require_memory(3 * 8 * raw.size, f"a tree of {n_levels} levels on {n_items} items", "Take fewer items.")
    numbered = _by_smallest_item(raw)
    if numbered[0].any():
        stray = int(np.argmax(numbered[0] != 0))
        raise TreeError(
            f"level 0 must be one folder with all items; items 0 and {stray} are apart. "
            "Put a row of zeros on top."
        )
    if numbered[-1, -1] != n_items - 1:
        shared = int(np.argmin(numbered[-1] == np.arange(n_items)))
        raise TreeError(
            f"the last level must be the singletons; item {shared} shares its folder with item "
            f"{int(numbered[-1, shared])}. Append the row arange({n_items})."
        )
    for level in range(1, n_levels):
        parent = np.empty(n_items, dtype=np.int64)
        parent[numbered[level][::-1]] = numbered[level - 1][::-1]
        crossing = parent[numbered[level]] != numbered[level - 1]
        if crossing.any():
            item = int(np.argmax(crossing))
            partner = int(np.argmax(numbered[level] == numbered[level, item]))
            raise TreeError(
                f"every level must refine the one above; items {partner} and {item} share a folder "
                f"at level {level} but not at level {level - 1}. Order the rows from the root down."
            )
    return numbered


def _by_smallest_item(raw: npt.NDArray[Any]) -> IntArray:
    """Every row with its folders numbered from 0, in the order of their smallest items."""
    n_levels, n_items = raw.shape
    items = np.arange(n_items)
    folder: IntArray
    if raw.min() >= 0 and raw.max() < n_items:
        folder = raw.astype(np.int64)
    else:
        folder = np.stack([np.unique(row, return_inverse=True)[1] for row in raw])
    # All levels in one row.
    begins = n_items * np.arange(n_levels)[:, None]
    running = (folder + begins).ravel()
    smallest = np.full(raw.size, n_items)
    np.minimum.at(smallest, running, np.tile(items, n_levels))
    smallest = smallest[running].reshape(raw.shape)
    rank = np.cumsum(smallest == items, axis=1) - 1
    numbered: IntArray = rank.ravel()[smallest + begins]
    return numbered
