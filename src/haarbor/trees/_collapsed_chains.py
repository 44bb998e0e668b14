"""Chains of a deep tree drawn as one step: a folder from which small parts come off one after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import IntArray, frozen
from haarbor.options import require_whole_number
from haarbor.trees._partition_tree import PartitionTree
from haarbor.trees._pruned_tree import PrunedTree

__all__ = ["CollapsedTree", "collapsed_chains", "drawn_tree"]

# A part of at most one such share is small.
_SMALL = 8
# Trees of more levels than this are drawn with their chains as single steps.
_DEEP = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CollapsedTree:
    """A tree with its chains as single folders, for drawing; its Haar functions are not those of the tree."""

    tree: PartitionTree
    steps: IntArray
    """How many steps of the tree each folder of ``tree.pruned`` stands for: 1, or the length of a
    chain; 0 for a leaf, shape (n_folders,)."""


def collapsed_chains(tree: PartitionTree, shortest: int = 3) -> CollapsedTree:
    """Tree in which every chain is one folder, with the parts that come off and the rest for children.

    A chain is a row of folders each of which splits into the next folder and a small part: a single item,
    or at most an eighth. Haar trees of the keys of text have long ones, where the keys that many queries
    look at come off one after another.

    Parameters
    ----------
    tree : PartitionTree
    shortest : int, default 3
        Chains of fewer steps stay as they are.

    Returns
    -------
    CollapsedTree

    See Also
    --------
    haarbor.trees.drawn_tree : The tree as it is drawn.

    Examples
    --------
    >>> chain = PartitionTree([[0, 0, 0, 0, 0], [0, 1, 1, 1, 1], [0, 1, 2, 2, 2], [0, 1, 2, 3, 3], range(5)])
    >>> found = collapsed_chains(chain)
    >>> found.tree.levels.tolist()  # 0, 1 and 2 come off, 3 and 4 are left
    [[0, 0, 0, 0, 0], [0, 1, 2, 3, 3], [0, 1, 2, 3, 4]]
    >>> found.steps.tolist()
    [3, 0, 0, 0, 1, 0, 0]
    """
    least = require_whole_number("shortest", shortest, 2)
    pruned = tree.pruned
    following = np.full(pruned.n_folders, -1, dtype=np.int64)
    for several in np.flatnonzero(pruned.sizes > 2):
        children = pruned.children_of(several)
        # Largest first: the rest, and what comes off.
        if children.size == 2 and pruned.sizes[children[1]] <= max(1, pruned.sizes[several] // _SMALL):
            following[several] = children[0]
    in_chain = np.zeros(pruned.n_folders, dtype=bool)
    in_chain[following[following >= 0]] = True
    hidden = np.zeros(pruned.n_folders, dtype=bool)
    length = (pruned.sizes > 1).astype(np.int64)
    for first in np.flatnonzero((following >= 0) & ~in_chain):
        chain = [int(first)]
        while following[chain[-1]] >= 0 and following[following[chain[-1]]] >= 0:
            chain.append(int(following[chain[-1]]))
        if len(chain) >= least:
            hidden[chain[1:]] = True
            length[first] = len(chain)
    shown_parent = pruned.parents.copy()
    depth = np.zeros(pruned.n_folders, dtype=np.int64)
    # A parent comes before its children.
    for folder in range(1, pruned.n_folders):
        parent = shown_parent[folder]
        shown_parent[folder] = shown_parent[parent] if hidden[parent] else parent
        depth[folder] = depth[shown_parent[folder]] + 1
    found = PartitionTree(_levels(shown_parent, depth, pruned.leaves))
    of_items = {_key(pruned, int(shown)): int(length[shown]) for shown in np.flatnonzero(~hidden)}
    steps = [of_items[_key(found.pruned, folder)] for folder in range(found.pruned.n_folders)]
    return CollapsedTree(tree=found, steps=frozen(np.array(steps)))


def _key(pruned: PrunedTree, folder: int) -> bytes:
    return np.sort(pruned.members(folder)).tobytes()


def drawn_tree(tree: PartitionTree) -> CollapsedTree:
    """The tree as it is drawn: as it is, or without chains if it has more than 20 levels.

    See Also
    --------
    haarbor.trees.collapsed_chains : The tree without chains.
    haarbor.plots.tree_figure : Draws a tree.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> drawn_tree(pair).tree == pair, drawn_tree(pair).steps.tolist()
    (True, [1, 0, 0])
    """
    if tree.n_levels > _DEEP:
        return collapsed_chains(tree)
    return CollapsedTree(tree=tree, steps=frozen((tree.pruned.sizes > 1).astype(np.int64)))


def _levels(parents: IntArray, depth: IntArray, leaves: IntArray) -> IntArray:
    deepest = int(depth[leaves].max())
    levels = np.empty((deepest + 1, leaves.size), dtype=np.int64)
    folder = leaves.copy()
    for level in range(deepest, -1, -1):
        folder = np.where(depth[folder] > level, parents[folder], folder)
        levels[level] = folder
    return levels
