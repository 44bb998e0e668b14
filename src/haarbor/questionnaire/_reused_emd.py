"""Tree EMD over the iterations of a questionnaire, without summing the same folders twice."""

from __future__ import annotations

from collections.abc import Mapping

from haarbor.array_types import FloatArray
from haarbor.engines import L1Engine
from haarbor.transport import FolderMeans, OuterPart
from haarbor.trees import PartitionTree

__all__ = ["ReusedEmd"]


class ReusedEmd:
    """Distances between the items of one axis after another; parts that are needed again are kept.

    Trees change from one iteration to the next, but their singletons do not. A distance is the sum of
    three parts (:meth:`haarbor.transport.FolderMeans.l1_sums`). The part ground x ground does not
    depend on the trees and is summed once per axis; raised x ground is kept as long as the trees of
    the outer axes stay the same.

    Parameters
    ----------
    means : FolderMeans
    exponents : mapping of axis name to (alpha, beta)
    engine : L1Engine
    """

    def __init__(
        self, means: FolderMeans, exponents: Mapping[str, tuple[float, float]], engine: L1Engine
    ) -> None:
        self._means = means
        self._exponents = exponents
        self._engine = engine
        self._ground: dict[str, FloatArray] = {}
        self._raised: dict[str, tuple[tuple[PartitionTree, ...], FloatArray]] = {}

    def distances(self, axis: str, trees: Mapping[str, PartitionTree]) -> FloatArray:
        """Tree EMD between the slices of `axis`, equal to `tree_emd` up to rounding.

        Parameters
        ----------
        axis : str
        trees : mapping of axis name to PartitionTree
            One for every other axis.

        Returns
        -------
        ndarray of float64, shape (n, n)
        """
        outer_trees = tuple(trees[name] for name in self._means.outer_axes(axis))
        needed: list[OuterPart] = []
        if axis not in self._ground:
            needed.append("ground")
        if axis not in self._raised or self._raised[axis][0] != outer_trees:
            needed.append("raised")
        sums = self._means.l1_sums(axis, trees, self._exponents, self._engine, ground_parts=needed)
        if "ground" in needed:
            # Copied, because a view would keep all three.
            self._ground[axis] = sums[0].copy()
        if "raised" in needed:
            self._raised[axis] = (outer_trees, sums[1].copy())
        parts = (self._ground[axis], self._raised[axis][1], sums[2])
        return self._means.weighted_total(axis, parts, trees, self._exponents)
