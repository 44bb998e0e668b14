"""Where the folders of a tree stand when its leaves stand in a row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, FloatArray, IntArray
from haarbor.errors import ShapeError, TreeError
from haarbor.options import require_kind
from haarbor.trees import PartitionTree

__all__ = ["LeafPlaces", "checked_order", "leaf_places"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeafPlaces:
    """Places of the folders of ``tree.pruned`` over a row of leaves, shape (n_folders,) each."""

    first: IntArray
    """Place of the leftmost leaf of each folder."""
    last: IntArray
    """Place of the rightmost leaf of each folder."""
    middle: FloatArray
    """Middle of the outermost children; a leaf's own place."""


def checked_order(order: npt.ArrayLike | None, tree: PartitionTree) -> IntArray:
    """Leaf order of a tree, by smallest item if none is given.

    Raises
    ------
    SettingError
        If `tree` is not a PartitionTree.
    ShapeError
        If `order` does not hold every item once.
    TreeError
        If `order` tears a folder apart.
    """
    require_kind("tree", tree, PartitionTree, "Pass one of organization.trees.")
    if order is None:
        return tree.leaf_order()
    items: AnyArray = np.asarray(order)
    whole = items.dtype.kind in "iu" and items.shape == (tree.n_items,)
    if not whole or not np.array_equal(np.sort(items), np.arange(tree.n_items)):
        raise ShapeError(
            f"order must hold every item from 0 to {tree.n_items - 1} once; found shape {items.shape}. "
            "Take it from organization.order(axis)."
        )
    places = leaf_places(tree, items)
    torn = np.flatnonzero(places.last - places.first + 1 != tree.pruned.sizes)
    if torn.size:
        members = np.sort(tree.pruned.members(torn[0]))[:4].tolist()
        raise TreeError(
            f"order must keep every folder together; the folder of items {members} is torn apart. "
            "Take it from organization.order(axis) or tree.leaf_order()."
        )
    return items


def leaf_places(tree: PartitionTree, order: IntArray) -> LeafPlaces:
    """Places of all folders for leaves in `order`."""
    pruned = tree.pruned
    first = np.full(pruned.n_folders, tree.n_items, dtype=np.int64)
    last = np.full(pruned.n_folders, -1, dtype=np.int64)
    first[pruned.leaves[order]] = last[pruned.leaves[order]] = np.arange(tree.n_items)
    middle = first.astype(np.float64)
    # Parents come before their children, so going backwards every child is done before its parent.
    for folder in range(pruned.n_folders - 1, -1, -1):
        children = pruned.children_of(folder)
        if children.size:
            first[folder], last[folder] = first[children].min(), last[children].max()
            middle[folder] = (middle[children].min() + middle[children].max()) / 2
    return LeafPlaces(first=first, last=last, middle=middle)
