"""The tree builders under one function."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from haarbor.options import require_choice, require_real_number
from haarbor.spectral import markov_spectrum
from haarbor.trees._binary import binary_tree
from haarbor.trees._flexible import flexible_tree
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["build_tree"]


def build_tree(
    affinity: npt.ArrayLike,
    *,
    tree: Literal["flexible", "binary"] = "flexible",
    tree_constant: float = 1.0,
    cut: Literal["zero", "balanced"] = "zero",
) -> PartitionTree:
    """Partition tree of the items of an affinity.

    Parameters
    ----------
    affinity : array_like of float, shape (n, n)
    tree : {"flexible", "binary"}, default "flexible"
        From the leaves up (:func:`haarbor.flexible_tree`) or from the root down
        (:func:`haarbor.binary_tree`).
    tree_constant : float, default 1
        For the flexible tree.
    cut : {"zero", "balanced"}, default "zero"
        For the binary tree.

    Returns
    -------
    PartitionTree

    Examples
    --------
    >>> build_tree([[1.0, 0.2], [0.2, 1.0]])
    PartitionTree(2 items, 2 levels, 3 folders)
    """
    require_choice("tree", tree, ("flexible", "binary"))
    require_choice("cut", cut, ("zero", "balanced"))
    constant = require_real_number("the tree constant", tree_constant, positive=True)
    if tree == "flexible":
        return flexible_tree(markov_spectrum(affinity), constant)
    return binary_tree(affinity, cut=cut)
