"""One axis of a paraproduct: the folders of its tree, and sums up and down the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.trees import PartitionTree

__all__ = ["FolderAxis", "folder_sums"]


@dataclass(frozen=True, eq=False)
class FolderAxis:
    """Folders of a tree on one axis, every folder once.

    A folder that does not split is the same set of items on several levels, and differences between
    those levels are zero. So only folders that are new on a level matter: folder ``c > 0`` stands for
    the step from its parent to itself, which leads from level ``step_levels[c]`` to the next.
    """

    tree: PartitionTree

    @property
    def n_folders(self) -> int:
        """Number of distinct folders."""
        return self.tree.pruned.n_folders

    @property
    def n_steps(self) -> int:
        """Number of steps from level to level, also of those in which nothing splits."""
        return self.tree.n_levels - 1

    @property
    def parents(self) -> IntArray:
        """Parent of each folder, -1 for the root."""
        return self.tree.pruned.parents

    @property
    def leaves(self) -> IntArray:
        """Folder that holds each item alone."""
        return self.tree.pruned.leaves

    @cached_property
    def sizes(self) -> FloatArray:
        """Number of items of each folder."""
        return self.tree.pruned.sizes.astype(np.float64)

    @cached_property
    def step_levels(self) -> IntArray:
        """Level at which each folder's parent splits, increasing; -1 for the root."""
        return self.tree.pruned.first_level - 1

    @cached_property
    def level_folders(self) -> tuple[IntArray, ...]:
        """Folders that stand on each level, carried-down ones included; the last level in item order."""
        pruned = self.tree.pruned
        above = [
            np.flatnonzero((pruned.first_level <= level) & (level <= pruned.last_level))
            for level in range(self.n_steps)
        ]
        return (*above, self.leaves)

    @cached_property
    def level_parents(self) -> tuple[IntArray, ...]:
        """For each level but the first, the positions on the level above of the parents of its folders."""
        found = []
        place = np.empty(self.n_folders, dtype=np.int64)
        for above, here in zip(self.level_folders[:-1], self.level_folders[1:], strict=True):
            place.fill(-1)
            place[above] = np.arange(above.size)
            carried = place[here]
            found.append(np.where(carried >= 0, carried, place[self.parents[here]]))
        return tuple(found)

    def summed_down(self, terms: FloatArray, axis: int) -> FloatArray:
        """Terms of the steps added along the path from the root to each item; `terms` is overwritten."""
        from haarbor.paraproducts._scale_kernels import add_down

        add_down(_as_three_axes(terms, axis), self.parents)
        return np.take(terms, self.leaves, axis=axis)

    def sums_by_level(self, values: FloatArray, axis: int) -> FloatArray:
        """Values of the folders 1, 2, ... added up by the level of their step."""
        counts = np.bincount(self.step_levels[1:], minlength=self.n_steps)
        total = np.zeros((*values.shape[:axis], self.n_steps, *values.shape[axis + 1 :]))
        used = np.flatnonzero(counts)
        if used.size:
            begins = np.concatenate([[0], np.cumsum(counts)[:-1]])[used]
            place = (slice(None),) * axis + (used,)
            total[place] = np.add.reduceat(values, begins, axis=axis)
        return total


def folder_sums(items: FloatArray, axes: Sequence[FolderAxis]) -> FloatArray:
    """Sums over all products of folders, one axis after another.

    Parameters
    ----------
    items : ndarray of float64, one axis per entry of `axes`
    axes : sequence of FolderAxis

    Returns
    -------
    ndarray of float64, shape (n_folders of each axis)
    """
    from haarbor.paraproducts._scale_kernels import add_up

    sums = items
    for place, axis in enumerate(axes):
        shape = list(sums.shape)
        shape[place] = axis.n_folders
        wider = np.zeros(shape)
        wider[(slice(None),) * place + (axis.leaves,)] = sums
        add_up(_as_three_axes(wider, place), axis.parents)
        sums = wider
    return sums


def _as_three_axes(array: FloatArray, axis: int) -> FloatArray:
    """View of a contiguous array with the axes before `axis` merged into one, and those after it too."""
    before, after = int(np.prod(array.shape[:axis])), int(np.prod(array.shape[axis + 1 :]))
    view: FloatArray = array.view()
    view.shape = (before, array.shape[axis], after)
    return view
