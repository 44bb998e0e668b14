"""Trees as arguments: what may stand for one, and what is said if it may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from haarbor.errors import ShapeError, TreeError
from haarbor.options import found_text
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["require_tree", "require_tree_fits", "require_trees_fit", "trees_by_axis"]


def require_tree(tree: object, name: str = "tree") -> PartitionTree:
    """`tree` itself, if it is one.

    Examples
    --------
    >>> require_tree(PartitionTree([[0, 0], [0, 1]]))
    PartitionTree(2 items, 2 levels, 3 folders)
    """
    if not isinstance(tree, PartitionTree):
        raise TreeError(
            f"{name} must be a PartitionTree; found {type(tree).__name__}. "
            "Build one with PartitionTree.from_levels."
        )
    return tree


def require_tree_fits(tree: PartitionTree, axis: str, n_items: int) -> None:
    """Raise unless `tree` is a partition tree on the items of `axis`."""
    require_tree(tree, f"the tree of axis {axis!r}")
    if tree.n_items != n_items:
        raise ShapeError(
            f"the tree of axis {axis!r} must have {n_items} items like the tensor; found {tree.n_items}. "
            "Pass the tree of this tensor."
        )


def require_trees_fit(trees: Mapping[str, PartitionTree], axes: Sequence[str], shape: Sequence[int]) -> None:
    """Raise unless the tree of every axis that has one is on the items of the axis.

    The shape alone is looked at, so this comes before the values of a tensor, which may be many.
    """
    for axis, n_items in zip(axes, shape, strict=False):
        if axis in trees:
            require_tree_fits(trees[axis], axis, n_items)


def trees_by_axis(trees: object) -> Mapping[str, PartitionTree]:
    """`trees` itself, if it is a mapping; its axes and sizes are not looked at."""
    if not isinstance(trees, Mapping):
        raise TreeError(
            f"trees must be a mapping of axis names to trees; found {found_text(trees)}. "
            'Pass a dict such as {"query": tree}, or the trees of an Organization.'
        )
    return trees
