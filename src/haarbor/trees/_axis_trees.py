"""Checks of arguments that are trees, and of whether they fit the axes of a tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from haarbor.errors import ShapeError, TreeError
from haarbor.options import found_text
from haarbor.trees._partition_tree import PartitionTree

__all__ = [
    "require_tree",
    "require_tree_fits",
    "require_trees_fit",
    "row_and_column_trees",
    "trees_by_axis",
]


def require_tree(tree: object, name: str = "tree") -> PartitionTree:
    """`tree` itself; raise unless it is a PartitionTree.

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

    Only the shape is needed, so this is checked before the values of a large tensor are read.
    """
    for axis, n_items in zip(axes, shape, strict=False):
        if axis in trees:
            require_tree_fits(trees[axis], axis, n_items)


def row_and_column_trees(
    row_tree: PartitionTree | None,
    column_tree: PartitionTree | None,
    trees: Mapping[str, PartitionTree] | None,
) -> tuple[PartitionTree, PartitionTree]:
    """Trees of the rows and columns of a matrix, given one by one or as the trees of queries and keys.

    Parameters
    ----------
    row_tree, column_tree : PartitionTree or None
    trees : mapping of axis name to PartitionTree, or None
        With a tree for "query", the rows, and one for "key", the columns; trees of other axes are not used.

    Raises
    ------
    TreeError
        If the trees are given in both ways or in neither, or are not what they should be.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> row_and_column_trees(None, None, {"query": pair, "key": pair}) == (pair, pair)
    True
    """
    named = {"row_tree": row_tree, "column_tree": column_tree, "trees": trees}
    given = [name for name, value in named.items() if value is not None]
    if given == ["row_tree", "column_tree"]:
        return require_tree(row_tree, "row_tree"), require_tree(column_tree, "column_tree")
    if given != ["trees"]:
        raise TreeError(
            "the trees of a matrix must be given as row_tree and column_tree, or as trees=; found "
            f"{' and '.join(given) or 'none of them'}. "
            'Pass both trees, or trees={"query": ..., "key": ...}.'
        )
    by_axis = trees_by_axis(trees)
    missing = [axis for axis in ("query", "key") if axis not in by_axis]
    if missing:
        raise TreeError(
            f"trees must hold one for 'query' and one for 'key'; missing {missing}. Pass one for each."
        )
    return (
        require_tree(by_axis["query"], "the tree of axis 'query'"),
        require_tree(by_axis["key"], "the tree of axis 'key'"),
    )


def trees_by_axis(trees: object, axes: Sequence[str] | None = None) -> Mapping[str, PartitionTree]:
    """`trees` itself, if it is a mapping, and only of `axes` where these are given.

    Whether the trees fit the tensor is for :func:`require_trees_fit`.
    """
    if not isinstance(trees, Mapping):
        raise TreeError(
            f"trees must be a mapping of axis names to trees; found {found_text(trees)}. "
            'Pass a dict such as {"query": tree}, or the trees of an Organization.'
        )
    unknown = [] if axes is None else [axis for axis in trees if axis not in axes]
    if unknown:
        raise TreeError(
            f"trees must be on the axes {tuple(axes or ())}; found one on {found_text(unknown[0])}. "
            "Leave it out, or name the axes with axes=(...)."
        )
    return trees
