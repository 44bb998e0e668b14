"""Levels of a dendrogram: a linkage matrix of scipy as nested partitions."""

import numpy as np
import numpy.typing as npt

from haarbor.array_types import IntArray, real_array
from haarbor.errors import ShapeError, TreeError
from haarbor.memory import require_memory

__all__ = ["levels_of_linkage"]


def levels_of_linkage(linkage: npt.ArrayLike) -> IntArray:
    """Partitions of a scipy linkage matrix, one level for each step from the root.

    Level ``l`` holds the folders at depth ``l``; shallower leaves are carried down.

    Parameters
    ----------
    linkage : array_like of float, shape (n - 1, 4)
        As ``scipy.cluster.hierarchy.linkage`` returns it.

    Returns
    -------
    ndarray of int, shape (depth + 1, n)

    Raises
    ------
    TreeError
        If the rows do not join every cluster exactly once.

    Examples
    --------
    >>> levels_of_linkage([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 2.0, 4]]).tolist()
    [[0, 0, 0, 0], [4, 4, 5, 5], [0, 1, 2, 3]]
    """
    try:
        rows = real_array(linkage, "a linkage matrix")
    except ShapeError as error:
        raise TreeError(f"{error} Pass what scipy.cluster.hierarchy.linkage returns.") from None
    if rows.ndim != 2 or rows.shape[1] != 4 or rows.shape[0] == 0:
        raise TreeError(
            f"a linkage matrix must have shape (n - 1, 4); found {rows.shape}. "
            "Pass what scipy.cluster.hierarchy.linkage returns."
        )
    n_items = rows.shape[0] + 1
    require_memory(4 * 8 * rows.size, f"a linkage of {n_items} items", "Link fewer items.")
    latest = n_items + np.arange(n_items - 1)[:, None]
    # Compared as they are: a cast would cut fractions off, and NaN has no number.
    used = np.sort(rows[:, :2], axis=None)
    if not np.array_equal(used, np.arange(used.size)) or (rows[:, :2] >= latest).any():
        raise TreeError(
            "a linkage matrix must join every earlier cluster exactly once; its first two columns "
            "do not. Pass what scipy.cluster.hierarchy.linkage returns."
        )
    parent = np.empty(2 * n_items - 1, dtype=np.int64)
    parent[rows[:, :2].astype(np.int64)] = latest
    root = 2 * n_items - 2
    parent[root] = root
    depth = np.zeros(2 * n_items - 1, dtype=np.int64)
    for cluster in range(root - 1, -1, -1):
        depth[cluster] = depth[parent[cluster]] + 1
    deepest = int(depth[:n_items].max())
    require_memory(
        4 * 8 * (deepest + 1) * n_items,
        f"a tree of {deepest + 1} levels on {n_items} items",
        "Cut the dendrogram, or link fewer items.",
    )
    levels = np.empty((deepest + 1, n_items), dtype=np.int64)
    folder = np.arange(n_items)
    for level in range(deepest, -1, -1):
        folder = np.where(depth[folder] > level, parent[folder], folder)
        levels[level] = folder
    levels[0] = 0
    return levels
