"""The tree builders under one function."""

from __future__ import annotations

from typing import Literal

import numpy.typing as npt

from haarbor.options import require_choice, require_real_number
from haarbor.spectral import markov_spectrum
from haarbor.trees._binary import binary_tree
from haarbor.trees._flexible import flexible_tree
from haarbor.trees._haar_tree import DEFAULT_RESTRAINT, haar_tree, require_restraint
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["build_tree"]


def build_tree(
    affinity: npt.ArrayLike,
    *,
    tree: Literal["flexible", "binary", "haar"] = "flexible",
    tree_constant: float = 1.0,
    cut: Literal["zero", "balanced"] = "zero",
    restraint: float = DEFAULT_RESTRAINT,
) -> PartitionTree:
    """Partition tree of items, from their affinity or, for a Haar tree, from their features.

    Parameters
    ----------
    affinity : array_like of float, shape (n, n), or (n, d) for a Haar tree
        A Haar tree is not made from an affinity but from the items themselves, one row per item.
    tree : {"flexible", "binary", "haar"}, default "flexible"
        From the leaves up (:func:`haarbor.flexible_tree`), from the root down
        (:func:`haarbor.binary_tree`), or with the least l1 norm that is found (:func:`haarbor.haar_tree`).
    tree_constant : float, default 1
        For the flexible tree.
    cut : {"zero", "balanced"}, default "zero"
        For the binary tree.
    restraint : float, default 0.01
        For the Haar tree.

    Returns
    -------
    PartitionTree

    See Also
    --------
    haarbor.flexible_tree : Bottom-up tree from diffusion distances.
    haarbor.binary_tree : Top-down tree that splits in two.
    haarbor.haar_tree : Tree with a small l1 norm.

    Examples
    --------
    >>> build_tree([[1.0, 0.2], [0.2, 1.0]])
    PartitionTree(2 items, 2 levels, 3 folders)
    """
    require_choice("tree", tree, ("flexible", "binary", "haar"))
    require_choice("cut", cut, ("zero", "balanced"))
    constant = require_real_number("the tree constant", tree_constant, positive=True)
    share = require_restraint(restraint)
    if tree == "haar":
        return haar_tree(affinity, restraint=share)
    if tree == "flexible":
        return flexible_tree(markov_spectrum(affinity), constant)
    return binary_tree(affinity, cut=cut)
