"""Trees that do not depend on the data, with which the trees found from data are compared."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import IntArray
from haarbor.errors import SettingError
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["halved_tree", "ordered_tree_like", "random_tree_like"]


def halved_tree(n_items: int) -> PartitionTree:
    """Tree on the items in their own order, every folder cut into halves.

    This is the tree of the order as given: neighbours in the text, or in the list of heads, are together.

    Parameters
    ----------
    n_items : int

    Returns
    -------
    PartitionTree

    Raises
    ------
    SettingError
        If there is no item.

    See Also
    --------
    haarbor.trees.random_tree_like : Random tree of the same shape.
    haarbor.trees.ordered_tree_like : Tree of the same shape, items in order.

    Examples
    --------
    >>> halved_tree(3).levels.tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 2]]
    """
    if n_items < 1:
        raise SettingError(
            f"n_items must be at least 1; found {n_items}. Pass the number of items of the axis."
        )
    item = np.arange(n_items)
    depth = int(n_items - 1).bit_length()
    # floor(floor(2 x) / 2) is floor(x), so every level refines the one above.
    return PartitionTree(np.stack([(item << level) // n_items for level in range(depth + 1)]))


def ordered_tree_like(tree: PartitionTree) -> PartitionTree:
    """Tree of the same shape, with the items in their own order from left to right.

    Each folder stands where the mean place of its items puts it among its siblings; then the leaves
    are numbered from left to right. A tree on which the order is kept already stays as it is.

    Parameters
    ----------
    tree : PartitionTree

    Returns
    -------
    PartitionTree

    See Also
    --------
    haarbor.trees.halved_tree : Tree of the order as given.
    haarbor.trees.random_tree_like : Random tree of the same shape.

    Examples
    --------
    >>> mixed = PartitionTree([[0, 0, 0, 0, 0], [0, 1, 0, 1, 1], [0, 1, 2, 3, 4]])
    >>> ordered_tree_like(mixed).levels.tolist()
    [[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 3, 4]]
    """
    return PartitionTree(tree.levels[:, tree.leaf_order(np.arange(tree.n_items))])


def random_tree_like(tree: PartitionTree, rng: np.random.Generator) -> PartitionTree:
    """Random tree with as many levels as `tree`, and on each of them as many folders.

    The sizes of the folders are random: from the leaves up, the folders of each level are assigned at
    random to as many folders as the level above has, none of which stays empty.

    Parameters
    ----------
    tree : PartitionTree
    rng : numpy.random.Generator

    Returns
    -------
    PartitionTree

    See Also
    --------
    haarbor.trees.halved_tree : Tree of the order as given.
    haarbor.trees.ordered_tree_like : Tree of the same shape, items in order.

    Examples
    --------
    >>> tree = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> random = random_tree_like(tree, np.random.default_rng(0))
    >>> [len(random.folders(level)) for level in range(3)]
    [1, 2, 4]
    """
    counts = np.diff(tree.level_offsets)
    levels: list[IntArray] = [np.arange(tree.n_items)]
    for n_below, n_above in zip(counts[:0:-1].tolist(), counts[-2::-1].tolist(), strict=True):
        above = np.empty(n_below, dtype=np.int64)
        order = rng.permutation(n_below)
        above[order[:n_above]] = np.arange(n_above)
        above[order[n_above:]] = rng.integers(0, n_above, size=n_below - n_above)
        levels.append(above[levels[-1]])
    return PartitionTree(np.stack(levels[::-1]))
