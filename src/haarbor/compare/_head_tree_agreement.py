"""How far the head trees of two networks agree, over all levels and level by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen, plain_array
from haarbor.errors import ShapeError
from haarbor.options import require_seed, require_whole_number
from haarbor.stored_result import stored_result
from haarbor.trees import (
    PartitionTree,
    adjusted_mutual_information,
    partition_distance,
    require_tree,
    tree_distances,
)

__all__ = ["HeadTreeAgreement", "cophenetic_correlation", "head_tree_agreement"]


@stored_result("HeadTreeAgreement")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadTreeAgreement:
    """Two trees on the same heads, or on heads that are taken for the same."""

    distance: float
    """Partition distance: 0 for the same folders, at most 1."""
    cophenetic: float
    """Correlation of the tree distances of all pairs of heads; NaN where a tree has no folders."""
    p_value: float
    """Share of ways to name the heads of the second tree at random that correlate as well."""
    levels: FloatArray
    """Adjusted mutual information of the two partitions of each level that both trees have, below the
    root and above the leaves: 1 the same folders, 0 as by chance."""

    def __repr__(self) -> str:
        return (
            f"HeadTreeAgreement(distance {self.distance:.3f}, cophenetic correlation {self.cophenetic:.2f}, "
            f"p = {self.p_value:.3g})"
        )


def cophenetic_correlation(first: PartitionTree, second: PartitionTree) -> float:
    """Correlation of the tree distances of all pairs of items on two trees.

    Parameters
    ----------
    first, second : PartitionTree
        On the same items.

    Returns
    -------
    float
        NaN for fewer than three items, or where all pairs of a tree are at the same distance.

    See Also
    --------
    haarbor.compare.head_tree_agreement : Agreement of head trees.
    haarbor.tree_distances : Distance of items on a tree.

    Notes
    -----
    Pearson's correlation of :math:`d_S(i, j)` and :math:`d_T(i, j)` over all pairs :math:`i < j`, with
    :math:`d` the tree distance of :func:`haarbor.tree_distances`.

    Examples
    --------
    >>> one = PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> two = PartitionTree([[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]])
    >>> cophenetic_correlation(one, one), round(cophenetic_correlation(one, two), 4)
    (1.0, -0.5)
    """
    partition_distance(first, second)  # refuses trees on other items
    upper = np.triu_indices(first.n_items, 1)
    return _correlation(tree_distances(first)[upper], tree_distances(second)[upper])


def head_tree_agreement(
    first: PartitionTree,
    second: PartitionTree,
    pairs: npt.ArrayLike | None = None,
    *,
    n_permutations: int = 999,
    seed: int = 0,
) -> HeadTreeAgreement:
    """Agreement of two head trees, and whether it is more than naming heads at random would give.

    Parameters
    ----------
    first, second : PartitionTree
    pairs : array_like of int, shape (n_pairs, 2), optional
        Heads of the first tree and the heads of the second that they are taken for; heads in no pair are
        left out of their tree. By default both trees are on the same heads.
    n_permutations : int, default 999
    seed : int, default 0

    Returns
    -------
    HeadTreeAgreement

    Raises
    ------
    TreeError
        If no pairs are given and the trees are on different numbers of heads.
    ShapeError
        If the pairs are not pairs of heads.

    See Also
    --------
    haarbor.compare.cophenetic_correlation : Correlation of tree distances.
    haarbor.partition_distance : How far two trees are apart.

    Notes
    -----
    The test is Mantel's: the correlation is compared with those after naming the heads of the second tree
    at random. Pairs that were chosen because their attention is alike make it too easy; on heads that are
    the same by their place it is exact.
    """
    require_tree(first)
    require_tree(second)
    if pairs is not None:
        chosen = _checked_pairs(pairs, first, second)
        first = PartitionTree(first.levels[:, chosen[:, 0]])
        second = PartitionTree(second.levels[:, chosen[:, 1]])
    n_random = require_whole_number("n_permutations", n_permutations, 1)
    rng = np.random.default_rng(require_seed(seed))
    distance = partition_distance(first, second)
    upper = np.triu_indices(first.n_items, 1)
    one, two = tree_distances(first)[upper], tree_distances(second)
    found = _correlation(one, two[upper])
    p_value = float("nan")
    if np.isfinite(found):
        drawn = np.empty(n_random)
        for place in range(n_random):
            order = rng.permutation(first.n_items)
            drawn[place] = _correlation(one, two[np.ix_(order, order)][upper])
        p_value = (1 + int((drawn >= found - 1e-12).sum())) / (1 + n_random)
    shared = range(1, min(first.n_levels, second.n_levels) - 1)
    return HeadTreeAgreement(
        distance=distance,
        cophenetic=found,
        p_value=p_value,
        levels=frozen(
            np.array(
                [adjusted_mutual_information(first.levels[lv], second.levels[lv]) for lv in shared],
                dtype=np.float64,
            )
        ),
    )


def _checked_pairs(
    pairs: npt.ArrayLike, first: PartitionTree, second: PartitionTree
) -> npt.NDArray[np.int64]:
    array = plain_array(pairs, "pairs")
    fits = array.ndim == 2 and array.shape[1] == 2 and array.shape[0] and array.dtype.kind in "iu"
    if (
        not fits
        or array.min() < 0
        or (array.max(axis=0) >= (first.n_items, second.n_items)).any()
        or any(np.unique(column).size < column.size for column in array.T)
    ):
        raise ShapeError(
            f"pairs must be heads of trees on {first.n_items} and {second.n_items} heads, each at most once; "
            f"found shape {array.shape}. Pass what head_matching gives."
        )
    return array.astype(np.int64)


def _correlation(one: FloatArray, two: FloatArray) -> float:
    if one.size < 3 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    a, b = one - one.mean(), two - two.mean()
    return float(min(1.0, (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())))
