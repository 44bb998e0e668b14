"""Heads that stand out: groups that do nearly the same, and heads like no other."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.trees import PartitionTree

__all__ = ["alike_groups", "outlying_heads"]

ALIKE_SHARE = 0.25
"""The mean distance within a group is at most this share of the median distance of all pairs of heads."""


def alike_groups(tree: PartitionTree, distances: FloatArray, share: float = ALIKE_SHARE) -> list[IntArray]:
    """Largest folders of heads that are nearly the same.

    Parameters
    ----------
    tree : PartitionTree
        Tree of the heads.
    distances : ndarray of float, shape (n, n)
    share : float, default 0.25
        The mean distance within a folder must be at most this share of the median distance of all pairs.

    Returns
    -------
    list of ndarray of int
        The heads of each group, tightest group first; no head is in two.

    See Also
    --------
    haarbor.analysis.head_geometry : Heads of all batches together.
    haarbor.analysis.outlying_heads : Heads far from all others.

    Examples
    --------
    >>> tree = PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    >>> far = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    >>> [group.tolist() for group in alike_groups(tree, far)]
    [[0, 1]]
    """
    n_heads = distances.shape[0]
    if n_heads < 3:
        return []
    limit = share * float(np.median(distances[np.triu_indices(n_heads, 1)]))
    taken = np.zeros(n_heads, dtype=bool)
    found: list[tuple[float, IntArray]] = []
    for level in range(tree.n_levels - 1):
        for folder in tree.folders(level):
            if folder.size < 2 or taken[folder].any():
                continue
            within = distances[np.ix_(folder, folder)]
            mean = float(within.sum() / (folder.size * (folder.size - 1)))
            if mean <= limit:
                taken[folder] = True
                found.append((mean, folder))
    return [folder for _, folder in sorted(found, key=lambda pair: (pair[0], int(pair[1][0])))]


def outlying_heads(distances: FloatArray) -> IntArray:
    """Heads whose nearest other head is far away.

    Parameters
    ----------
    distances : ndarray of float, shape (n, n)

    Returns
    -------
    ndarray of int
        Farthest first. A nearest distance counts as far beyond the third quartile plus one and a
        half times the distance between the quartiles, as in a box plot.

    See Also
    --------
    haarbor.analysis.head_geometry : Heads of all batches together.
    haarbor.analysis.alike_groups : Heads that are nearly the same.

    Examples
    --------
    >>> places = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 40.0])
    >>> outlying_heads(np.abs(places[:, None] - places)).tolist()
    [6]
    """
    if distances.shape[0] < 4:
        return np.zeros(0, dtype=np.int64)
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = apart.min(axis=1)
    low, high = np.quantile(nearest, [0.25, 0.75])
    far = np.flatnonzero(nearest > high + 1.5 * (high - low))
    return far[np.argsort(-nearest[far], kind="stable")]
