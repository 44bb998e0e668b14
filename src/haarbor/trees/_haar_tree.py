"""Haar tree: a binary tree on which the Haar expansion of the items has a small l1 norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.engines import (
    CpuEngine,
    Device,
    GpuEngine,
    L1Engine,
    engine_named,
    ordered_results,
    usable_cores,
)
from haarbor.memory import require_memory
from haarbor.named_axes import checked_tensor
from haarbor.options import require_real_number
from haarbor.trees._binary_folders import BinaryFolders
from haarbor.trees._device_linkage import device_joins, device_row_distances
from haarbor.trees._partition_tree import PartitionTree
from haarbor.trees._rotations import rotate
from haarbor.trees._row_blocks import row_distances

__all__ = [
    "DEFAULT_RESTRAINT",
    "depth_price",
    "haar_tree",
    "linked_folders",
    "require_haar_tree_fits",
    "require_restraint",
]

DEFAULT_RESTRAINT = 0.01
# Bounds on terms are lowered by this share, which is more than rounding can change them.
_SLACK = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


def haar_tree(
    rows: npt.ArrayLike,
    *,
    restraint: float = DEFAULT_RESTRAINT,
    engine: str | L1Engine = "auto",
) -> PartitionTree:
    r"""Binary tree of the rows of a matrix with a small l1 norm of their Haar expansion.

    Folders join from the leaves up, always the two that add least to the norm (Haar linkage); then
    neighbouring folders are joined in another way wherever that lowers the norm (rotations).

    Parameters
    ----------
    rows : array_like of float, shape (n, d)
        One row per item. For the tree of one axis of a tensor these are its slices, expanded along the
        trees of the other axes (:func:`haarbor.organize` with ``tree="haar"``).
    restraint : float, default 0.01
        Price of depth. It is added to the norm, as a share of the norm of the linkage, once for each
        :math:`\log_2 n` steps from the root to a leaf on average, the depth of a balanced tree. With 0
        every gain counts, and trees of attention grow deep.
    engine : {"auto", "cpu", "gpu"} or L1Engine, default "auto"
        What sums the absolute differences.

    Returns
    -------
    PartitionTree

    Raises
    ------
    ShapeError, DataError, SettingError
        If `rows` is not a finite matrix, or a setting cannot be used.

    See Also
    --------
    haarbor.flexible_tree : Bottom-up tree from diffusion distances.
    haarbor.binary_tree : Top-down tree that splits in two.
    haarbor.haar_l1 : Sum of the sizes of all coefficients.
    haarbor.organize : Trees of one tensor.

    Notes
    -----
    With folder sizes :math:`a, b` and folder means :math:`Y_A, Y_B` the norm is

    .. math:: \sqrt n\,\|Y_{root}\|_1 + \sum \sqrt{\tfrac{ab}{a+b}}\,\|Y_A - Y_B\|_1

    over the folders that split into A and B. Its first term is the same for every tree. The linkage is
    greedy, so the norm is small and not always the least. Of equal terms the pair with the fewest items
    is joined, then the first. Cost :math:`O(n^2 d)`, and :math:`O(n d)` for a round of rotations.

    Examples
    --------
    >>> haar_tree([[0.0], [10.0], [1.0], [12.0]]).levels.tolist()
    [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]
    """
    share = require_restraint(restraint)
    summing = engine_named(engine)
    matrix = checked_tensor(rows, ("item", "feature"))
    matrix = scaled(matrix, excess_exponent(matrix))
    n_items, n_features = matrix.shape
    require_haar_tree_fits(n_items, n_features, matrix.dtype.itemsize)
    means: Any
    if isinstance(summing, GpuEngine):
        with summing.device.one_line_errors():
            means = summing.device.xp.empty((2 * n_items - 1, n_features), matrix.dtype)
            means[:n_items] = summing.device.xp.asarray(matrix)
            distances = device_row_distances(means[:n_items], summing)
            folders = linked_folders(means, distances, summing.device)
            rotate(folders, depth_price(share, folders.norm, n_items), 1)
            return folders.tree()
    means = np.empty((2 * n_items - 1, n_features), matrix.dtype)
    means[:n_items] = matrix
    distances = row_distances(means[:n_items], summing)
    folders = linked_folders(means, distances)
    price = depth_price(share, folders.norm, n_items)
    rotate(folders, price, summing.threads if isinstance(summing, CpuEngine) else usable_cores())
    return folders.tree()


def linked_folders(means: FloatArray, distances: FloatArray, device: Device | None = None) -> BinaryFolders:
    """Haar linkage of the first n rows of `means`, shape (2 n - 1, d), whose other rows are written.

    Parameters
    ----------
    means : ndarray of float32 or float64
    distances : ndarray of float64, shape (n, n)
        L1 distances between the first n rows.
    device : Device, optional
        Where `means` lies, if not on the host.

    See Also
    --------
    haarbor.trees.rotate : Rotations that lower the norm.
    haarbor.haar_tree : Tree with a small l1 norm.
    """
    from haarbor.trees._haar_linkage_kernels import haar_joins

    n_items = distances.shape[0]
    if device is not None:
        found = device_joins(means, distances * np.sqrt(0.5), _SLACK[means.dtype], device)
        return BinaryFolders.of_joins(means, *found, device)
    joins = np.empty((n_items - 1, 2), dtype=np.int64)
    terms = np.empty(n_items - 1)
    costs = distances * np.sqrt(0.5)
    stop = np.zeros(1, np.uint8)

    def join(slack: float) -> None:
        haar_joins(means, costs, slack, joins, terms, stop)

    try:
        # On a thread of its own, so that an interrupt need not wait for the last join.
        for _ in ordered_results(join, [_SLACK[means.dtype]], 2):
            pass
    finally:
        stop[0] = 1
    return BinaryFolders.of_joins(means, joins, terms)


def depth_price(restraint: float, norm: float, n_items: int) -> float:
    """What one step of one leaf away from the root costs, for a restraint relative to `norm`.

    See Also
    --------
    haarbor.trees.rotate : Rotations that lower the norm.
    haarbor.haar_tree : Tree with a small l1 norm.

    Examples
    --------
    >>> depth_price(0.01, 80.0, 4)  # a balanced tree of 4 leaves has 8 such steps
    0.1
    """
    return restraint * norm / (n_items * math.log2(n_items)) if n_items > 1 else 0.0


def require_restraint(restraint: object) -> float:
    """`restraint` as a number from 0 to 1.

    Examples
    --------
    >>> require_restraint(0)
    0.0
    """
    return require_real_number("restraint", restraint, least=0, most=1)


def require_haar_tree_fits(n_items: int, n_features: int, itemsize: int) -> None:
    """Raise if the means of all folders, or the distances of the items, do not fit into memory."""
    require_memory(
        3 * itemsize * n_items * n_features + 5 * 8 * n_items**2,
        f"the folders of {n_items} items with {n_features} features",
        "Take fewer items, or fewer features.",
    )
