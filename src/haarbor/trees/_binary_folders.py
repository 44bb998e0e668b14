"""A binary tree that is being built: its folders, their means, and the terms of its l1 norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.engines import Device
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["BinaryFolders", "join_weight"]


@dataclass(slots=True, eq=False, kw_only=True)
class BinaryFolders:
    """Folders of a binary tree on the rows of a matrix: the items, then the folders that join two.

    It is changed by rotations. The last folder is the root, and stays the root.
    """

    n_items: int
    means: FloatArray
    """Mean of the rows of each folder, shape (2 n - 1, d), on the host or on a device."""
    left: IntArray
    """First child of each folder, -1 for an item, shape (2 n - 1,)."""
    right: IntArray
    """Second child of each folder, -1 for an item, shape (2 n - 1,)."""
    parents: IntArray
    """Folder each one is a child of, -1 for the root, shape (2 n - 1,)."""
    sizes: FloatArray
    """Items in each folder, shape (2 n - 1,)."""
    terms: FloatArray
    """Share of each folder in the l1 norm: the sum of the absolute Haar coefficients of its split,
    0 for an item, shape (2 n - 1,)."""
    device: Device | None = None
    """Where the means lie, if not on the host."""

    @classmethod
    def of_joins(
        cls, means: FloatArray, joins: IntArray, terms: FloatArray, device: Device | None = None
    ) -> BinaryFolders:
        """Folders from the joins that made them, one row of two folders each."""
        n_joins = joins.shape[0]
        n_items = n_joins + 1
        left, right, parents = (np.full(n_items + n_joins, -1, dtype=np.int64) for _ in range(3))
        sizes = np.ones(n_items + n_joins)
        left[n_items:], right[n_items:] = joins.T
        for folder in range(n_items, n_items + n_joins):
            parents[left[folder]] = parents[right[folder]] = folder
            sizes[folder] = sizes[left[folder]] + sizes[right[folder]]
        return cls(
            n_items=n_items,
            means=means,
            left=left,
            right=right,
            parents=parents,
            sizes=sizes,
            terms=np.concatenate([np.zeros(n_items), terms]),
            device=device,
        )

    @property
    def norm(self) -> float:
        """l1 norm of the Haar expansion of the rows on this tree."""
        # The sum of an array on a device is one too.
        root = float(abs(self.means[-1]).sum(dtype=np.float64))
        return float(np.sqrt(self.n_items) * root + self.terms.sum())

    @property
    def depth(self) -> float:
        """Steps from the root to a leaf, on average: each folder is a step for each of its items."""
        return float(self.sizes[self.n_items :].sum() / self.n_items)

    def tree(self) -> PartitionTree:
        """The tree as nested partitions, one level for each step from the root."""
        if self.n_items == 1:
            return PartitionTree([[0]])
        below_first: list[int] = []
        stack = [2 * self.n_items - 2]
        while stack:
            folder = stack.pop()
            if folder >= self.n_items:
                below_first.append(folder)
                stack += [int(self.left[folder]), int(self.right[folder])]
        joined = np.array(below_first[::-1])
        number = np.arange(2 * self.n_items - 1)
        number[joined] = self.n_items + np.arange(joined.size)
        linkage = np.zeros((joined.size, 4))
        linkage[:, 0], linkage[:, 1] = number[self.left[joined]], number[self.right[joined]]
        linkage[:, 3] = self.sizes[joined]
        return PartitionTree.from_linkage(linkage)


def join_weight(a: FloatArray, b: FloatArray) -> FloatArray:
    r"""Factor :math:`\sqrt{ab/(a+b)}` of the difference of two folders of `a` and `b` items.

    Examples
    --------
    >>> join_weight(np.array([1.0]), np.array([3.0])).round(4).tolist()
    [0.866]
    """
    weight: FloatArray = np.sqrt(a * b / (a + b))
    return weight
