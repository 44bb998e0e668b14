"""A tree without only-child chains: every set of items once, with the weights of its copies added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.errors import SettingError
from haarbor.options import require_real_number

__all__ = ["LARGEST_EXPONENT", "LARGEST_LOG_WEIGHT", "PrunedTree", "folder_weights", "pruned_tree"]

# With larger exponents the weights one level below the root are zero or infinite anyway.
LARGEST_EXPONENT = 1000
# Weighted sums of float32 data of ordinary size stay within float32 for weights up to 2**60.
LARGEST_LOG_WEIGHT = 60


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrunedTree:
    """Folders of a partition tree with only-child chains merged.

    Folders are numbered from the root down, by first level and then by smallest item, so a parent comes
    before its children. Every folder of several items has at least two children.

    See Also
    --------
    haarbor.PartitionTree : The tree itself.
    haarbor.tree_emd : Distances along trees.
    """

    n_items: int
    sizes: IntArray
    """Items in each folder, shape (n,)."""
    parents: IntArray
    """Parent of each folder, -1 for the root, shape (n,)."""
    first_level: IntArray
    """Level at which the folder appears, shape (n,)."""
    last_level: IntArray
    """Last level at which the folder is whole: it splits into `children` one level below."""
    first_item: IntArray
    """Smallest item of each folder; the item itself for a singleton, shape (n,)."""
    children: IntArray
    """Children of all folders in one row, shape (n - 1,); largest first, ties by smallest item."""
    child_offsets: IntArray
    """`children` of folder ``f`` are at ``child_offsets[f]:child_offsets[f + 1]``."""
    leaves: IntArray
    """Folder number of each item's singleton, shape (n_items,)."""
    member_order: IntArray
    """Items in tree order, every folder a contiguous run, shape (n_items,)."""
    member_begins: IntArray
    """Where each folder's run begins in `member_order`, shape (n,)."""

    @property
    def n_folders(self) -> int:
        """Number of distinct folders."""
        return int(self.sizes.size)

    def children_of(self, folder: int | np.integer[Any]) -> IntArray:
        """Children of a folder, largest first, equal sizes by smallest item."""
        return self.children[self.child_offsets[folder] : self.child_offsets[folder + 1]]

    def members(self, folder: int | np.integer[Any]) -> IntArray:
        """Items of a folder, in tree order."""
        begin = self.member_begins[folder]
        return self.member_order[begin : begin + self.sizes[folder]]

    def weights(self, alpha: float = 0.0, beta: float = 1.0) -> FloatArray:
        r"""Weight of each folder, with those of its carried-down copies added, shape (n_folders,).

        .. math:: w(F) = (|F|/n)^\beta \sum_{\ell \ge \text{first}}^{\text{last}} 2^{-\alpha \ell}

        Examples
        --------
        >>> from haarbor import PartitionTree
        >>> PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]).pruned.weights().round(3).tolist()
        [1.0, 0.667, 0.667, 0.333, 0.333]
        """
        return self._weights_up_to(self.last_level, alpha, beta)

    def raised_weights(self, alpha: float = 0.0, beta: float = 1.0) -> FloatArray:
        """Weights without the share that singletons have from the last level, shape (n_folders,).

        Examples
        --------
        >>> from haarbor import PartitionTree
        >>> tree = PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
        >>> tree.pruned.raised_weights().round(3).tolist()
        [1.0, 0.667, 0.333, 0.0, 0.0]
        """
        return self._weights_up_to(self.last_level - (self.sizes == 1), alpha, beta)

    def _weights_up_to(self, last_level: IntArray, alpha: float, beta: float) -> FloatArray:
        n_levels = int(self.last_level.max()) + 1
        decay = folder_weights(np.ones(n_levels), np.arange(n_levels), alpha, 0.0)
        chain = np.where(last_level >= self.first_level, decay[self.first_level], 0.0)
        # Summed for each pair of levels: differences of running sums would lose the digits of small weights.
        longer = np.flatnonzero(last_level > self.first_level)
        pairs, which = np.unique(
            self.first_level[longer] * n_levels + last_level[longer], return_inverse=True
        )
        chain[longer] = np.array(
            [decay[pair // n_levels : pair % n_levels + 1].sum() for pair in pairs.tolist()]
        )[which]
        return folder_weights(self.sizes / self.n_items, np.zeros(1, dtype=np.int64), 0.0, beta) * chain


def folder_weights(share: FloatArray, level: IntArray, alpha: float, beta: float) -> FloatArray:
    r"""Weights :math:`s^\beta 2^{-\alpha \ell}` of folders that hold a share `s` of the items.

    Raises
    ------
    SettingError
        If an exponent is not a number of moderate size, or a weight overflows.

    Examples
    --------
    >>> folder_weights(np.array([1.0, 0.5]), np.array([0, 1]), 1.0, 1.0).tolist()
    [1.0, 0.25]
    """
    decay = require_real_number("alpha", alpha, least=-LARGEST_EXPONENT, most=LARGEST_EXPONENT)
    power = require_real_number("beta", beta, least=-LARGEST_EXPONENT, most=LARGEST_EXPONENT)
    with np.errstate(over="ignore"):
        size_part: FloatArray = share**power
        weights: FloatArray = size_part * 2.0 ** (-decay * level)
    # The logarithm of a product that overflows is still a number.
    largest = float(np.max(power * np.log2(share) - decay * level))
    if largest > LARGEST_LOG_WEIGHT:
        raise SettingError(
            f"alpha and beta must keep the weights of folders below 2**{LARGEST_LOG_WEIGHT}; with alpha="
            f"{decay:g} and beta={power:g} they reach 2**{largest:.0f}. Choose exponents nearer to 0."
        )
    return weights


def pruned_tree(levels: IntArray, offsets: IntArray, sizes: IntArray, parents: IntArray) -> PrunedTree:
    """Merge the only-child chains of a tree given by its flat arrays (see `PartitionTree`)."""
    n_levels, n_items = levels.shape
    folder_level = np.repeat(np.arange(n_levels), np.diff(offsets))
    starts_chain = np.ones(sizes.size, dtype=bool)
    starts_chain[1:] = sizes[1:] != sizes[parents[1:]]
    chain = np.cumsum(starts_chain) - 1
    # Level by level, because a copy takes the number of the folder it copies.
    for level in range(1, n_levels):
        row = np.arange(offsets[level], offsets[level + 1])
        copies = row[~starts_chain[row]]
        chain[copies] = chain[parents[copies]]
    heads = np.flatnonzero(starts_chain)
    n_folders = heads.size
    last_level = np.zeros(n_folders, dtype=np.int64)
    np.maximum.at(last_level, chain, folder_level)
    first_item = np.empty(sizes.size, dtype=np.int64)
    items_backwards = np.arange(n_items)[::-1]
    for level in range(n_levels):
        first_item[offsets[level] + levels[level, ::-1]] = items_backwards
    first_item = first_item[heads]
    head_sizes = sizes[heads]
    head_parents = np.where(heads == 0, -1, chain[parents[heads]])
    children = np.lexsort((first_item[1:], -head_sizes[1:], head_parents[1:])) + 1
    child_counts = np.bincount(head_parents[1:], minlength=n_folders)
    leaves = chain[offsets[-2] + levels[-1]]
    member_order = np.lexsort(list(levels[::-1]))
    place = np.empty(n_items, dtype=np.int64)
    place[member_order] = np.arange(n_items)
    return PrunedTree(
        n_items=n_items,
        sizes=frozen(head_sizes),
        parents=frozen(head_parents),
        first_level=frozen(folder_level[heads]),
        last_level=frozen(last_level),
        first_item=frozen(first_item),
        children=frozen(children),
        child_offsets=frozen(np.concatenate([[0], np.cumsum(child_counts)])),
        leaves=frozen(leaves),
        member_order=frozen(member_order),
        # Folders are numbered by smallest item, so a folder's run begins with its smallest item.
        member_begins=frozen(place[first_item]),
    )
