"""Folders that make the features of a distance: products over the outer axes, folders of one axis.

The distance between two slices is a weighted sum over the folders of the other axes. The folders of a
tree are divided into two parts. The *ground* part is the singletons with the weight they have at the
last level, which is the same for all of them; every tree on these items has the same ground part. The
*raised* part is all larger folders, and those singletons that already stand alone on higher levels,
with the weight that these levels add. The distance is the sum over both parts, and only the raised
part changes when the tree does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.trees import PartitionTree

__all__ = ["OuterFolders", "OuterPart", "RaisedFolders", "ground_weight", "outer_folders", "raised_folders"]

OuterPart = Literal["ground", "raised"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OuterFolders:
    """Products of folders over the outer axes, as runs of offsets into a flat tensor."""

    offsets: IntArray
    begins: IntArray
    """Folder ``g`` sums the matrices at ``offsets[begins[g]:begins[g + 1]]``."""
    scale: FloatArray
    """Weight divided by size, which turns the sum over a folder into its weighted mean."""

    @property
    def n_folders(self) -> int:
        """Number of products of folders."""
        return int(self.scale.size)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RaisedFolders:
    """Raised folders along one axis of ``n`` items, each summed from its children."""

    children: IntArray
    """A child below ``n`` is an item, child ``n + g`` is the earlier folder ``g``."""
    child_begins: IntArray
    """Folder ``g`` has the children at ``child_begins[g]:child_begins[g + 1]``."""
    scale: FloatArray
    """Weight divided by size."""
    column: IntArray
    """Column of each folder."""

    @property
    def n_folders(self) -> int:
        """Number of raised folders."""
        return int(self.scale.size)


def ground_weight(tree: PartitionTree, alpha: float, beta: float) -> float:
    """Weight of a singleton at the last level."""
    return float(2.0 ** (-alpha * (tree.n_levels - 1)) * (1.0 / tree.n_items) ** beta)


def outer_folders(
    trees: Sequence[PartitionTree],
    strides: Sequence[int],
    exponents: Sequence[tuple[float, float]],
    part: OuterPart,
) -> OuterFolders:
    """Products of the folders of several trees.

    Parameters
    ----------
    trees, strides, exponents : sequences of equal length
        For each outer axis its tree, its stride in the flat tensor, and (alpha, beta).
    part : {"ground", "raised"}
        Products of singletons, with weight 1; or all others, with the weight that the ground part leaves.

    Returns
    -------
    OuterFolders
    """
    runs = [np.zeros(1, dtype=np.int64)]
    # A product of (ground + raised) weights is ground x ground plus a raised rest.
    ground, raised = np.ones(1), np.zeros(1)
    for tree, stride, (alpha, beta) in zip(trees, strides, exponents, strict=True):
        pruned = tree.pruned
        # In tree order, a folder before its children: neighbours share items, and so memory.
        order = np.lexsort((-pruned.sizes, pruned.member_begins))
        members = [pruned.members(folder) * stride for folder in order]
        runs = [np.add.outer(run, member).ravel() for run in runs for member in members]
        more = pruned.raised_weights(alpha, beta)[order]
        level_part = np.where(pruned.sizes[order] == 1, ground_weight(tree, alpha, beta), 0.0)
        raised = (np.multiply.outer(raised, level_part + more) + np.multiply.outer(ground, more)).ravel()
        ground = np.multiply.outer(ground, level_part).ravel()
    sizes = np.array([run.size for run in runs])
    chosen = np.flatnonzero(ground if part == "ground" else raised)
    weights = np.ones_like(raised) if part == "ground" else raised
    picked = [runs[folder] for folder in chosen]
    return OuterFolders(
        offsets=np.concatenate(picked) if picked else np.zeros(0, dtype=np.int64),
        begins=np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64),
        scale=weights[chosen] / sizes[chosen],
    )


def raised_folders(
    tree: PartitionTree, alpha: float, beta: float, present: BoolArray | None = None
) -> RaisedFolders:
    """Raised folders of one tree.

    Parameters
    ----------
    tree : PartitionTree
        Tree on the ``n`` items of the feature axis.
    alpha, beta : float
        Exponents of the weights.
    present : ndarray of bool, shape (n_rows, n), optional
        Entries that can be non-zero. Folders that can be non-zero in many rows come first, so that
        the zeros of a row are gathered at its end.

    Returns
    -------
    RaisedFolders
    """
    pruned = tree.pruned
    n_items = tree.n_items
    weights = pruned.raised_weights(alpha, beta)
    # From the leaves up, so that children come before their parents.
    larger = np.flatnonzero(pruned.sizes > 1)[::-1]
    number = np.full(pruned.n_folders, -1, dtype=np.int64)
    number[larger] = n_items + np.arange(larger.size)
    number[pruned.leaves] = np.arange(n_items)
    added = weights[pruned.leaves]
    alone = np.flatnonzero(added)
    children = [number[pruned.children_of(folder)] for folder in larger]
    children += [np.array([item]) for item in alone]
    scale = np.concatenate([weights[larger] / pruned.sizes[larger], added[alone]])
    column = np.arange(scale.size)
    if present is not None:
        members = [pruned.members(folder) for folder in (*larger, *pruned.leaves[alone])]
        reach = np.array([present[:, items].any(axis=1).sum() for items in members])
        column[np.argsort(-reach, kind="stable")] = np.arange(scale.size)
    return RaisedFolders(
        children=np.concatenate(children) if children else np.zeros(0, dtype=np.int64),
        child_begins=np.concatenate([[0], np.cumsum([c.size for c in children])]).astype(np.int64),
        scale=scale,
        column=column,
    )
