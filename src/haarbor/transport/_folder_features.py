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
from itertools import pairwise
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
) -> dict[OuterPart, OuterFolders]:
    """Products of the folders of several trees.

    Parameters
    ----------
    trees, strides, exponents : sequences of equal length
        For each outer axis its tree, its stride in the flat tensor, and (alpha, beta).

    Returns
    -------
    dict
        "ground": products of singletons, with weight 1; "raised": all others, with the weight that the ground
        part leaves.
    """
    # The items of all products so far, one run per product, and the size of each run.
    offsets: IntArray = np.zeros(1, dtype=np.int64)
    sizes: IntArray = np.ones(1, dtype=np.int64)
    # A product of (ground + raised) weights is ground x ground plus a raised rest.
    ground, raised = np.ones(1), np.zeros(1)
    for tree, stride, (alpha, beta) in zip(trees, strides, exponents, strict=True):
        pruned = tree.pruned
        # In tree order, a folder before its children: neighbours share items, and so memory.
        order = np.lexsort((-pruned.sizes, pruned.member_begins))
        more_sizes = pruned.sizes[order]
        members = stride * pruned.member_order[_places(pruned.member_begins[order], more_sizes)]
        offsets, sizes = _products_of_runs(offsets, sizes, members, more_sizes)
        more = pruned.raised_weights(alpha, beta)[order]
        level_part = np.where(more_sizes == 1, ground_weight(tree, alpha, beta), 0.0)
        raised = (np.multiply.outer(raised, level_part + more) + np.multiply.outer(ground, more)).ravel()
        ground = np.multiply.outer(ground, level_part).ravel()
    run_begins = np.cumsum(sizes) - sizes

    def part(chosen: IntArray, weights: FloatArray) -> OuterFolders:
        return OuterFolders(
            offsets=offsets[_places(run_begins[chosen], sizes[chosen])],
            begins=np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64),
            scale=weights / sizes[chosen],
        )

    singles, others = np.flatnonzero(ground), np.flatnonzero(raised)
    return {"ground": part(singles, np.ones(singles.size)), "raised": part(others, raised[others])}


def _places(begins: IntArray, sizes: IntArray) -> IntArray:
    """The places begins[g], ..., begins[g] + sizes[g] - 1 of every run g, one after another."""
    ends = np.cumsum(sizes)
    places: IntArray = np.arange(ends[-1] if ends.size else 0) + np.repeat(begins - ends + sizes, sizes)
    return places


def _products_of_runs(
    left: IntArray, left_sizes: IntArray, right: IntArray, right_sizes: IntArray
) -> tuple[IntArray, IntArray]:
    """Sums of an entry of a run on the left and one on the right, for all pairs of runs; their sizes."""
    if left.size == 1:
        return left[0] + right, right_sizes
    left_runs = np.split(left, np.cumsum(left_sizes)[:-1])
    right_runs = np.split(right, np.cumsum(right_sizes)[:-1])
    runs = [np.add.outer(one, other).ravel() for one in left_runs for other in right_runs]
    return np.concatenate(runs), np.multiply.outer(left_sizes, right_sizes).ravel()


def _reach(present: BoolArray, children: IntArray, counts: IntArray, levels: IntArray) -> IntArray:
    """In how many rows each item, and then each folder, can be non-zero.

    Parameters
    ----------
    present : ndarray of bool, shape (n_rows, n)
    children, counts : ndarray of int
        The next ``counts[g]`` children are those of folder ``g``, numbered as in `RaisedFolders`.
    levels : ndarray of int
        Level of each folder, the deepest first; its children are deeper.
    """
    # Eight rows to a byte; a copy with contiguous items is packed sooner.
    items = np.packbits(np.ascontiguousarray(present.T), axis=1)
    n_items = items.shape[0]
    seen = np.empty((n_items + counts.size, items.shape[1]), np.uint8)
    seen[:n_items] = items
    begins = np.concatenate([[0], np.cumsum(counts)])
    # All folders of a level at once.
    cuts = [0, *(np.flatnonzero(np.diff(levels)) + 1).tolist(), counts.size]
    for first, past in pairwise(cuts if counts.size else [0]):
        below = children[begins[first] : begins[past]]
        np.bitwise_or.reduceat(
            seen[below],
            begins[first:past] - begins[first],
            axis=0,
            out=seen[n_items + first : n_items + past],
        )
    reach: IntArray = np.bitwise_count(seen).sum(axis=1, dtype=np.int64)
    return reach


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
    counts = np.diff(pruned.child_offsets)[larger]
    below = number[pruned.children[_places(pruned.child_offsets[larger], counts)]]
    scale = np.concatenate([weights[larger] / pruned.sizes[larger], added[alone]])
    column = np.arange(scale.size)
    if present is not None:
        reach = _reach(present, below, counts, pruned.first_level[larger])
        reach = np.concatenate([reach[n_items:], reach[alone]])
        column[np.argsort(-reach, kind="stable")] = np.arange(scale.size)
    return RaisedFolders(
        children=np.concatenate([below, alone]),
        child_begins=np.concatenate([[0], np.cumsum(counts), counts.sum() + 1 + np.arange(alone.size)]),
        scale=scale,
        column=column,
    )
