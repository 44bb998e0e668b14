"""Distances on a tree and between trees."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import TreeError
from haarbor.memory import require_memory
from haarbor.trees._axis_trees import require_tree
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["partition_distance", "shared_folders", "tree_distances"]


def tree_distances(tree: PartitionTree) -> FloatArray:
    r"""Tree distance between all pairs of items.

    The distance of two items is the relative size of the smallest folder that holds both.

    Parameters
    ----------
    tree : PartitionTree
        Tree with ``n`` items.

    Returns
    -------
    ndarray of float, shape (n, n)
        :math:`d(x, y) = |F|/n` with :math:`F` the smallest common folder, zero if x = y.

    See Also
    --------
    haarbor.partition_distance : How far two trees are apart.
    haarbor.tree_emd : Distances along trees.
    haarbor.compare.cophenetic_correlation : Correlation of tree distances.

    Notes
    -----
    This is an ultrametric. Cost :math:`O(n^2 L)` for :math:`L` levels.

    Examples
    --------
    >>> tree_distances(PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]]))[0].tolist()
    [0.0, 0.5, 1.0, 1.0]
    """
    n_items = require_tree(tree).n_items
    require_memory(8 * n_items**2, f"the distances of {n_items} items", "Take fewer items.")
    distances = np.ones((n_items, n_items))
    for level in range(1, tree.n_levels):
        row = tree.levels[level]
        size = np.bincount(row)[row] / n_items
        together = row[:, None] == row[None, :]
        np.copyto(distances, np.broadcast_to(size[:, None], together.shape), where=together)
    np.fill_diagonal(distances, 0.0)
    return distances


def partition_distance(first: PartitionTree, second: PartitionTree) -> float:
    r"""How far two trees on the same items are apart, between 0 and 1.

    The mean over pairs of different items of the difference of their tree distances; zero exactly
    when the trees have the same distinct folders.

    Parameters
    ----------
    first, second : PartitionTree
        Trees on the same ``n`` items.

    Returns
    -------
    float

    Raises
    ------
    TreeError
        If the trees differ in the number of items.

    See Also
    --------
    haarbor.shared_folders : Share of folders in common.
    haarbor.tree_distances : Distance of items on a tree.
    haarbor.compare.head_tree_agreement : Agreement of head trees.

    Notes
    -----
    .. math:: \frac{1}{n(n-1)} \sum_{x \ne y} |d_1(x, y) - d_2(x, y)|

    A metric on trees up to only-child chains.

    Examples
    --------
    >>> one = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> two = PartitionTree([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])
    >>> round(partition_distance(one, two), 4)  # 4 of 6 pairs differ by 1/2
    0.3333
    """
    _require_same_items(first, second)
    n_items = first.n_items
    if n_items == 1:
        return 0.0
    difference = np.abs(tree_distances(first) - tree_distances(second))
    return float(difference.sum() / (n_items * (n_items - 1)))


def shared_folders(first: PartitionTree, second: PartitionTree) -> float:
    r"""Share of the distinct folders that two trees have in common (Jaccard), without root and singletons.

    Returns
    -------
    float
        1.0 when both trees have the same inner folders, also when neither has any.

    See Also
    --------
    haarbor.partition_distance : How far two trees are apart.
    haarbor.trees.adjusted_mutual_information : Agreement of two partitions.

    Notes
    -----
    :math:`|S \cap T| / |S \cup T|`, with :math:`S` and :math:`T` the sets of inner folders of the two trees.

    Examples
    --------
    >>> one = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> two = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 2, 3]])
    >>> shared_folders(one, two)
    0.5
    """
    _require_same_items(first, second)
    mine, theirs = _inner_folders(first), _inner_folders(second)
    union = mine | theirs
    return len(mine & theirs) / len(union) if union else 1.0


def _inner_folders(tree: PartitionTree) -> set[bytes]:
    return {items.tobytes() for partition in tree for items in partition if 1 < items.size < tree.n_items}


def _require_same_items(first: PartitionTree, second: PartitionTree) -> None:
    if require_tree(first).n_items != require_tree(second).n_items:
        raise TreeError(
            "two trees to compare must be on the same items; found trees on "
            f"{first.n_items} and {second.n_items} items. Pass trees of one axis."
        )
