"""Product functions in the order of their support, largest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import IntArray
from haarbor.options import require_whole_number
from haarbor.wavelets._haar_system import HaarSystem

__all__ = ["LargestProducts", "largest_products"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LargestProducts:
    """The ``k`` product functions of largest support, and those tied with the last of them."""

    chosen: IntArray
    """Function indices of the k products in order, shape (k, n_axes)."""
    above: IntArray
    """Those whose support is larger than the cut, in order, shape (n_above, n_axes)."""
    tied: IntArray
    """All products whose support equals the cut, in order, shape (n_tied, n_axes)."""
    cut_support: int
    """Support of the last one chosen."""

    @property
    def n_from_tied(self) -> int:
        """How many of the tied products are chosen."""
        return int(self.chosen.shape[0] - self.above.shape[0])


def largest_products(systems: Sequence[HaarSystem], k: int) -> LargestProducts:
    r"""The `k` product functions of largest support.

    Ties are broken by a fixed rule: larger support first, then smaller sum of levels, then smaller level on
    the first axis, then smaller function indices.

    Parameters
    ----------
    systems : sequence of HaarSystem
        One per axis.
    k : int
        How many; all of them if there are fewer.

    Returns
    -------
    LargestProducts

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.sorted_coefficients : Coefficients by support.

    Notes
    -----
    Supports take few distinct values on an axis, so their products are counted by value and only
    the products at or above the cut are ever listed.

    Examples
    --------
    >>> from haarbor import PartitionTree, haar_system
    >>> system = haar_system(PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]]))
    >>> best = largest_products([system, system], 5)
    >>> best.chosen.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2]]
    >>> len(best.tied), best.cut_support
    (8, 8)
    """
    total = math.prod(system.n_items for system in systems)
    k = min(require_whole_number("k", k, 1), total)
    values = [np.unique(system.supports, return_counts=True) for system in systems]
    supports, counts = np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for value, count in values:
        supports = np.multiply.outer(supports, value).ravel()
        counts = np.multiply.outer(counts, count).ravel()
    order = np.argsort(-supports, kind="stable")
    reached = np.cumsum(counts[order])
    cut = int(supports[order[np.searchsorted(reached, k)]])
    shape = [value.size for value, _ in values]
    above = _listed(systems, values, shape, np.flatnonzero(supports > cut))
    tied = _listed(systems, values, shape, np.flatnonzero(supports == cut))
    return LargestProducts(chosen=np.concatenate([above, tied])[:k], above=above, tied=tied, cut_support=cut)


def _listed(
    systems: Sequence[HaarSystem],
    values: Sequence[tuple[IntArray, IntArray]],
    shape: Sequence[int],
    combinations: IntArray,
) -> IntArray:
    """Products whose support values are the given combinations, in the total order."""
    pieces = []
    for places in zip(*np.unravel_index(combinations, shape), strict=True):
        functions = [
            np.flatnonzero(system.supports == value[place])
            for system, (value, _), place in zip(systems, values, places, strict=True)
        ]
        grid = np.meshgrid(*functions, indexing="ij")
        pieces.append(np.stack([axis.ravel() for axis in grid], axis=1))
    if not pieces:
        return np.zeros((0, len(systems)), dtype=np.int64)
    indices = np.concatenate(pieces)
    levels = np.stack([s.levels[indices[:, axis]] for axis, s in enumerate(systems)], axis=1)
    support = np.prod([s.supports[indices[:, axis]] for axis, s in enumerate(systems)], axis=0)
    keys = [*indices.T[::-1], levels[:, 0], levels.sum(axis=1), -support]
    return indices[np.lexsort(keys)]
