"""Partition tree: nested partitions of n items, from the root folder to the singletons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, frozen, plain_array, real_array
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.errors import DataError, TreeError
from haarbor.options import found_text, is_whole_number
from haarbor.trees._canonical_levels import canonical_levels
from haarbor.trees._pruned_tree import PrunedTree, folder_weights, pruned_tree

if TYPE_CHECKING:
    import networkx

__all__ = ["PartitionTree"]


class PartitionTree:
    r"""Nested partitions of ``n`` items, each level refining the one above.

    Level 0 is one folder with all items, the last level is the singletons, and every level is a
    full partition: a folder that does not split is carried down as an only child. Folders are
    numbered within a level by their smallest item, so two trees with the same partitions hold
    the same arrays and compare equal whatever numbers they were built from.

    Parameters
    ----------
    levels : array_like of int, shape (n_levels, n)
        ``levels[l, i]`` is the folder of item ``i`` at level ``l``. Folder numbers are arbitrary.

    Raises
    ------
    TreeError
        If level 0 has several folders, the last level has a folder of several items, or a folder
        holds items that are apart in the level above.

    See Also
    --------
    haarbor.build_tree : A tree by any of the three builders.
    haarbor.PrunedTree : The tree without only children.
    haarbor.plots.tree_figure : Draws a tree.

    Notes
    -----
    All arrays are flat and read-only. Folders of all levels have one running number: level by
    level, within a level by smallest item.

    Examples
    --------
    >>> tree = PartitionTree([[0, 0, 0, 0], [5, 5, 2, 2], [0, 1, 2, 3]])
    >>> tree.levels.tolist()
    [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]]
    >>> tree.sizes.tolist()
    [4, 2, 2, 1, 1, 1, 1]
    >>> tree.parents.tolist()
    [-1, 0, 0, 1, 1, 2, 2]
    """

    __slots__ = ("_child_offsets", "_children", "_levels", "_offsets", "_parents", "_pruned", "_sizes")

    _levels: IntArray
    _offsets: IntArray
    _sizes: IntArray
    _parents: IntArray
    _children: IntArray
    _child_offsets: IntArray
    _pruned: PrunedTree

    def __init__(self, levels: npt.ArrayLike) -> None:
        numbered = canonical_levels(levels)
        n_levels = numbered.shape[0]
        folders_per_level = numbered.max(axis=1) + 1
        offsets = np.concatenate([[0], np.cumsum(folders_per_level)]).astype(np.int64)
        running = numbered + offsets[:-1, None]
        sizes = np.bincount(running.ravel(), minlength=int(offsets[-1]))
        parents = np.full(int(offsets[-1]), -1, dtype=np.int64)
        for level in range(1, n_levels):
            parents[running[level]] = running[level - 1]
        # Stable sort: children stand in the order of their smallest item.
        children = np.argsort(parents[1:], kind="stable") + 1
        child_counts = np.bincount(parents[1:], minlength=int(offsets[-1]))
        child_offsets = np.concatenate([[0], np.cumsum(child_counts)])
        set_field = object.__setattr__
        set_field(self, "_levels", frozen(numbered))
        set_field(self, "_offsets", frozen(offsets))
        set_field(self, "_sizes", frozen(sizes))
        set_field(self, "_parents", frozen(parents))
        set_field(self, "_children", frozen(children))
        set_field(self, "_child_offsets", frozen(child_offsets))
        set_field(self, "_pruned", pruned_tree(numbered, offsets, sizes, parents))

    @classmethod
    def from_levels(cls, levels: npt.ArrayLike) -> PartitionTree:
        """Tree from its partitions; the same as calling the class.

        Examples
        --------
        >>> PartitionTree.from_levels([[7, 7], [1, 0]])
        PartitionTree(2 items, 2 levels, 3 folders)
        """
        return cls(levels)

    @classmethod
    def from_linkage(cls, linkage: npt.ArrayLike) -> PartitionTree:
        """Tree of a scipy linkage matrix; see :func:`haarbor.trees._linkage.levels_of_linkage`.

        Examples
        --------
        >>> tree = PartitionTree.from_linkage([[0, 2, 0.1, 2], [1, 3, 0.5, 3]])
        >>> tree.levels.tolist()
        [[0, 0, 0], [0, 1, 0], [0, 1, 2]]
        """
        from haarbor.trees._linkage import levels_of_linkage

        return cls(levels_of_linkage(linkage))

    @classmethod
    def from_json(cls, text: str) -> PartitionTree:
        """Tree from the text :meth:`to_json` wrote."""
        from haarbor.trees._export import levels_from_json

        return cls(levels_from_json(text))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a PartitionTree cannot be changed; {name!r} was to be set.")

    def __reduce__(self) -> tuple[type[PartitionTree], tuple[IntArray]]:
        return (PartitionTree, (self._levels,))

    @property
    def levels(self) -> IntArray:
        """Folder of each item at each level, shape (n_levels, n_items)."""
        return self._levels

    @property
    def n_items(self) -> int:
        """Number of items, the leaves."""
        return int(self._levels.shape[1])

    @property
    def n_levels(self) -> int:
        """Number of levels, root and singletons included."""
        return int(self._levels.shape[0])

    @property
    def n_folders(self) -> int:
        """Number of folders over all levels, carried-down copies included."""
        return int(self._offsets[-1])

    @property
    def level_offsets(self) -> IntArray:
        """Running number of the first folder of each level, shape (n_levels + 1,)."""
        return self._offsets

    @property
    def sizes(self) -> IntArray:
        """Number of items of each folder, shape (n_folders,)."""
        return self._sizes

    @property
    def parents(self) -> IntArray:
        """Running number of each folder's parent, -1 for the root, shape (n_folders,)."""
        return self._parents

    @property
    def pruned(self) -> PrunedTree:
        """The tree without carried-down copies: every folder once, every branching real."""
        return self._pruned

    @property
    def relative_depth(self) -> float:
        """Mean number of splits between the root and a leaf, over that of a balanced binary tree, log2 n.

        A chain of n items has about n / (2 log2 n), a tree without inner folders 1 / log2 n, one item 0.

        Examples
        --------
        >>> PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]]).relative_depth
        1.0
        """
        if self.n_items == 1:
            return 0.0
        sizes = self._pruned.sizes
        return float(sizes[sizes > 1].sum() / (self.n_items * np.log2(self.n_items)))

    def children(self, folder: int) -> IntArray:
        """Running numbers of a folder's children, by smallest item.

        Examples
        --------
        >>> PartitionTree([[0, 0, 0], [0, 1, 0], [0, 1, 2]]).children(0).tolist()
        [1, 2]
        """
        self._require_folder(folder)
        return self._children[self._child_offsets[folder] : self._child_offsets[folder + 1]]

    def items(self, folder: int) -> IntArray:
        """Items of a folder, increasing.

        Examples
        --------
        >>> PartitionTree([[0, 0, 0], [0, 1, 0], [0, 1, 2]]).items(1).tolist()
        [0, 2]
        """
        self._require_folder(folder)
        level = int(np.searchsorted(self._offsets, folder, side="right")) - 1
        return np.flatnonzero(self._levels[level] == folder - self._offsets[level])

    def level_of(self, folder: int) -> int:
        """Level of a folder; that of the root is 0."""
        self._require_folder(folder)
        return int(np.searchsorted(self._offsets, folder, side="right")) - 1

    def folders(self, level: int) -> tuple[IntArray, ...]:
        """Partition at a level: one array of items per folder; negative levels count from the leaves.

        Examples
        --------
        >>> [f.tolist() for f in PartitionTree([[0, 0, 0], [0, 1, 0], [0, 1, 2]]).folders(1)]
        [[0, 2], [1]]
        """
        if not is_whole_number(level) or not -self.n_levels <= level < self.n_levels:
            raise TreeError(
                f"level must lie in 0..{self.n_levels - 1}; found {found_text(level)}. The tree has "
                f"{self.n_levels} levels."
            )
        row = self._levels[level]
        order = np.argsort(row, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(row))[:-1]))

    def __iter__(self) -> Iterator[tuple[IntArray, ...]]:
        """Partitions from the root down."""
        return (self.folders(level) for level in range(self.n_levels))

    def weights(self, alpha: float = 0.0, beta: float = 1.0) -> FloatArray:
        r"""Weight of each folder in the tree distance, shape (n_folders,).

        .. math:: w(F) = (|F|/n)^\beta \, 2^{-\alpha \ell}
        """
        level = np.repeat(np.arange(self.n_levels), np.diff(self._offsets))
        return folder_weights(self._sizes / self.n_items, level, alpha, beta)

    def leaf_order(self, scores: npt.ArrayLike | None = None) -> IntArray:
        """Items in tree order, folders kept together.

        Parameters
        ----------
        scores : array_like of float, shape (n_items,), optional
            Children of every folder are ordered by their mean score, so that neighbouring leaves of
            different folders are alike too; without scores they are ordered by their smallest item.

        Returns
        -------
        ndarray of int, shape (n_items,)

        Examples
        --------
        >>> tree = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
        >>> tree.leaf_order([3, 4, 2, 1]).tolist()
        [3, 2, 0, 1]
        """
        n_items = self.n_items
        if scores is None:
            keys: list[FloatArray | IntArray] = list(self._levels[::-1])
            return np.lexsort(keys)
        given = real_array(scores, "scores")
        if given.shape != (n_items,):
            raise TreeError(
                f"scores must hold one value per item, shape ({n_items},); found {given.shape}. "
                "Pass them in the order of the items."
            )
        # Numbers beyond float64 become infinite here, and are refused below.
        with np.errstate(over="ignore"):
            values: FloatArray = given.astype(np.float64)
        if not np.isfinite(values).all():
            item = int(np.argmin(np.isfinite(values)))
            raise DataError(f"scores must be finite; item {item} has {values[item]}. Give it a number.")
        # Sums of very large scores would overflow; the order does not depend on their scale.
        values = scaled(values, excess_exponent(values))
        # Sort by (mean at level 1, folder, mean at level 2, folder, ...): lexsort wants the last
        # key first, and the folder number keeps equal means apart.
        keys = []
        for row in self._levels[::-1]:
            keys.append(row)
            keys.append((np.bincount(row, weights=values) / np.bincount(row))[row])
        return np.lexsort(keys)

    def permuted(self, order: npt.ArrayLike) -> PartitionTree:
        """Tree in which item ``i`` stands where item ``order[i]`` stood.

        Parameters
        ----------
        order : array_like of int, shape (n_items,)
            A permutation; a random one makes a control with the same folder sizes.

        Examples
        --------
        >>> PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]).permuted([2, 0, 1]).levels.tolist()
        [[0, 0, 0], [0, 1, 1], [0, 1, 2]]
        """
        places = plain_array(order, "order")
        whole = places.dtype.kind in "iu" and places.shape == (self.n_items,)
        if not whole or not np.array_equal(np.sort(places), np.arange(self.n_items)):
            raise TreeError(
                f"order must be a permutation of 0..{self.n_items - 1}; found dtype {places.dtype}, shape "
                f"{places.shape}. Pass each item once."
            )
        return PartitionTree(self._levels[:, places])

    def __eq__(self, other: object) -> bool:
        """Equal when every level is the same partition."""
        if not isinstance(other, PartitionTree):
            return NotImplemented
        return np.array_equal(self._levels, other._levels)

    def __hash__(self) -> int:
        return hash((self._levels.shape, self._levels.tobytes()))

    def __len__(self) -> int:
        """Number of levels."""
        return self.n_levels

    def __repr__(self) -> str:
        return f"PartitionTree({self.n_items} items, {self.n_levels} levels, {self.n_folders} folders)"

    def render(self, labels: Sequence[str] | None = None, *, max_lines: int = 200) -> str:
        """Drawing in text, one line per folder; see :func:`haarbor.trees._export.text_drawing`."""
        from haarbor.trees._export import text_drawing

        return text_drawing(self, labels, max_lines=max_lines)

    def to_newick(self, labels: Sequence[str] | None = None) -> str:
        """Newick text, readable by phylogenetics tools."""
        from haarbor.trees._export import newick

        return newick(self, labels)

    def to_json(self) -> str:
        """JSON text from which :meth:`from_json` restores the tree."""
        from haarbor.trees._export import json_text

        return json_text(self)

    def to_networkx(self) -> networkx.DiGraph[Any]:
        """Directed graph of the pruned tree, edges from parent to child (needs networkx)."""
        from haarbor.trees._export import networkx_graph

        return networkx_graph(self)

    def _require_folder(self, folder: int) -> None:
        if not is_whole_number(folder) or not 0 <= folder < self.n_folders:
            raise TreeError(
                f"folder must lie in 0..{self.n_folders - 1}; found {found_text(folder)}. "
                f"The tree has {self.n_folders} folders."
            )
