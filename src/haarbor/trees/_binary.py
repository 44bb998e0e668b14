"""Binary tree: every folder is cut in two by the second eigenvector of its own Markov chain."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray
from haarbor.options import require_choice
from haarbor.spectral import checked_affinity, markov_spectrum, require_own_affinity
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["binary_tree"]


def binary_tree(affinity: npt.ArrayLike, *, cut: Literal["zero", "balanced"] = "zero") -> PartitionTree:
    """Top-down tree in which every folder splits in two.

    Parameters
    ----------
    affinity : array_like of float, shape (n, n)
        Symmetric, non-negative, positive on the diagonal.
    cut : {"zero", "balanced"}, default "zero"
        Where to cut the second eigenvector of the affinity restricted to a folder: at zero, or so
        that the halves differ by at most one item. A cut at zero that would leave one side empty
        is made balanced.

    Returns
    -------
    PartitionTree
        Shorter branches are carried down to the common depth.

    See Also
    --------
    haarbor.flexible_tree : Bottom-up tree from diffusion distances.
    haarbor.haar_tree : Tree with a small l1 norm.
    haarbor.build_tree : A tree by any of the three builders.

    Notes
    -----
    One eigenproblem per folder: :math:`O(n^3)` in all unless the cuts are very uneven.

    Examples
    --------
    >>> near, far = 0.9, 0.1
    >>> affinity = [[1, far, near, far], [far, 1, far, near], [near, far, 1, far], [far, near, far, 1]]
    >>> binary_tree(affinity).levels.tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]
    """
    require_choice("cut", cut, ("zero", "balanced"))
    matrix = checked_affinity(affinity)
    n_items = matrix.shape[0]
    if n_items > 2:
        require_own_affinity(matrix)
    partitions = [np.zeros(n_items, dtype=np.int64)]
    folders = [np.arange(n_items)]
    while any(items.size > 1 for items in folders):
        halves = []
        for items in folders:
            if items.size == 1:
                halves.append(items)
                continue
            right = _right_half(matrix[np.ix_(items, items)], cut)
            halves += [items[~right], items[right]]
        folders = halves
        row = np.empty(n_items, dtype=np.int64)
        for number, items in enumerate(folders):
            row[items] = number
        partitions.append(row)
    return PartitionTree(np.stack(partitions))


def _right_half(affinity: FloatArray, cut: str) -> BoolArray:
    n_items = affinity.shape[0]
    if n_items == 2:
        return np.array([False, True])
    second = markov_spectrum(affinity, 2).eigenvectors[:, 1]
    right: BoolArray = second < 0
    if cut == "balanced" or right.all() or not right.any():
        right = np.zeros(n_items, dtype=bool)
        right[np.argsort(-second, kind="stable")[(n_items + 1) // 2 :]] = True
    return right
