"""Haar functions of a partition tree, described by the folders they compare and not by their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.memory import require_memory
from haarbor.trees import PartitionTree, require_tree

__all__ = ["HaarSystem", "haar_basis", "haar_system"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HaarSystem:
    """The ``n`` orthonormal Haar functions of a tree on ``n`` items, the constant first.

    The others follow level by level, within a level by the smallest item of their folder, and
    within a folder with children c_1, ..., c_m (largest first) as c_1 against the later ones, c_2
    against the later ones, and so on.

    See Also
    --------
    haarbor.haar_system : The functions of a tree.
    haarbor.haar_basis : Their values.
    """

    supports: IntArray
    """Number of items on which each function is not zero, shape (n,)."""
    levels: IntArray
    """Level of the folder each function splits; 0 for the constant, shape (n,)."""
    parents: IntArray
    """Function whose positive or negative part is this one's support; 0 for the coarsest, -1 for
    the constant, shape (n,)."""
    positive_sizes: IntArray
    """Items on which each function is positive, shape (n,)."""
    negative_sizes: IntArray
    """Items on which each function is negative, shape (n,)."""
    folder_sizes: IntArray
    """Size of the folder each function splits, at least its support, shape (n,)."""
    left: IntArray
    """Node on which each function is positive: item, or n + function; shape (n,), unused at 0."""
    right: IntArray
    """Node on which each function is negative; shape (n,), unused at 0."""

    @property
    def n_items(self) -> int:
        """Number of items and of functions."""
        return int(self.supports.size)

    @property
    def node_sizes(self) -> IntArray:
        """Items below each node, shape (2 n,): the items, then the unions."""
        return np.concatenate([np.ones(self.n_items, dtype=np.int64), self.supports])

    def __repr__(self) -> str:
        return f"HaarSystem({self.n_items} functions)"


def haar_system(tree: PartitionTree) -> HaarSystem:
    r"""Haar functions of a tree.

    Parameters
    ----------
    tree : PartitionTree
        Tree with ``n`` items.

    Returns
    -------
    HaarSystem

    See Also
    --------
    haarbor.haar_basis : Their values.
    haarbor.haar_transform : Coefficients of a tensor.

    Notes
    -----
    A folder with children :math:`c_1, \dots, c_m` carries :math:`m-1` functions, the :math:`i`-th
    positive on :math:`A = c_i` and negative on :math:`B = c_{i+1} \cup \dots \cup c_m`. Cost
    :math:`O(n \log n)`.

    Examples
    --------
    >>> system = haar_system(PartitionTree([[0, 0, 0, 0], [0, 0, 1, 2], [0, 1, 2, 3]]))
    >>> system.supports.tolist()
    [4, 4, 2, 2]
    >>> system.levels.tolist()
    [0, 0, 0, 1]
    >>> system.parents.tolist()
    [-1, 0, 1, 1]
    """
    pruned = require_tree(tree).pruned
    n_items = tree.n_items
    split = np.flatnonzero(pruned.sizes > 1)
    split = split[np.lexsort((pruned.first_item[split], pruned.last_level[split]))]
    arrays = {
        name: np.zeros(n_items, dtype=np.int64) for name in ("a", "b", "level", "folder", "left", "right")
    }
    parents = np.full(n_items, -1, dtype=np.int64)
    node = np.full(pruned.n_folders, -1, dtype=np.int64)
    node[pruned.leaves] = np.arange(n_items)
    j = 1
    for folder in split:
        node[folder] = n_items + j
        j += pruned.child_offsets[folder + 1] - pruned.child_offsets[folder] - 1
    j = 1
    for folder in split:
        children = pruned.children_of(folder)
        sizes = pruned.sizes[children]
        later = np.cumsum(sizes[::-1])[::-1]
        m = children.size - 1
        here = slice(j, j + m)
        arrays["a"][here] = sizes[:-1]
        arrays["b"][here] = later[1:]
        arrays["level"][here] = pruned.last_level[folder]
        arrays["folder"][here] = pruned.sizes[folder]
        arrays["left"][here] = node[children[:-1]]
        arrays["right"][here] = np.append(n_items + np.arange(j + 1, j + m), node[children[-1]])
        j += m
    for side in (arrays["left"], arrays["right"]):
        inner = np.flatnonzero(side >= n_items)
        parents[side[inner] - n_items] = inner
    if n_items > 1:
        parents[1] = 0
    arrays["a"][0] = arrays["folder"][0] = n_items
    return HaarSystem(
        supports=frozen(arrays["a"] + arrays["b"]),
        levels=frozen(arrays["level"]),
        parents=frozen(parents),
        positive_sizes=frozen(arrays["a"]),
        negative_sizes=frozen(arrays["b"]),
        folder_sizes=frozen(arrays["folder"]),
        left=frozen(arrays["left"]),
        right=frozen(arrays["right"]),
    )


def haar_basis(tree: PartitionTree) -> FloatArray:
    r"""Values of the Haar functions of a tree, for drawing; transforms do not need them.

    Parameters
    ----------
    tree : PartitionTree
        Tree with ``n`` items.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Row ``j`` is function ``j`` of :func:`haar_system`; rows are orthonormal.

    See Also
    --------
    haarbor.haar_system : The functions of a tree.
    haarbor.haar_transform : Coefficients of a tensor.
    haarbor.plots.haar_basis_figure : Draws the functions.

    Notes
    -----
    A function that is positive on :math:`A` and negative on :math:`B`, of :math:`a` and :math:`b` items, is

    .. math:: h = \sqrt{\frac{ab}{a+b}} \left(\frac{1_A}{a} - \frac{1_B}{b}\right).

    Examples
    --------
    >>> haar_basis(PartitionTree([[0, 0], [0, 1]])).round(4).tolist()
    [[0.7071, 0.7071], [0.7071, -0.7071]]
    """
    from haarbor.wavelets._haar_transform import inverse_haar_transform

    n_items = require_tree(tree).n_items
    require_memory(3 * 8 * n_items**2, f"the Haar functions of {n_items} items", "Take fewer items.")
    return inverse_haar_transform(np.eye(n_items), {"item": tree}, ("function", "item"))
