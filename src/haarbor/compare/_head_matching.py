"""Which head of one network corresponds to which of another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, frozen, real_array
from haarbor.errors import DataError, ShapeError

__all__ = ["checked_distances", "head_matching"]

# A head stays where it is if another one is nearer by no more than this share of the mean distance.
_TIE = 1e-9


def head_matching(distances: npt.ArrayLike) -> IntArray:
    r"""Pairs of heads, each head in one pair at most, whose distances have the least sum.

    Parameters
    ----------
    distances : array_like of float, shape (n, m)
        From each head of one network to each head of another.

    Returns
    -------
    ndarray of int, shape (min(n, m), 2)
        Head of the first network, head of the second; in the order of the first.

    Raises
    ------
    ShapeError, DataError
        If the distances are not a matrix of finite numbers.

    See Also
    --------
    haarbor.compare.cross_distances : Distances between two networks' heads.
    haarbor.compare.matching_test : Whether pairs are better than chance.

    Notes
    -----
    :math:`\min_\pi \sum_i d(i, \pi(i))` over all ways :math:`\pi` to pair the heads.

    The assignment problem, solved exactly (scipy's ``linear_sum_assignment``). Where several matchings
    have the same sum and both networks as many heads, the one in which more heads keep their place.

    Examples
    --------
    >>> head_matching([[3.0, 0.0, 5.0], [0.0, 4.0, 5.0]]).tolist()
    [[0, 1], [1, 0]]
    """
    from scipy.optimize import linear_sum_assignment

    costs = checked_distances(distances)
    if costs.shape[0] == costs.shape[1]:
        # Networks have heads that are the same to the last bit, such as uniform ones before training.
        moved = 1.0 - np.eye(costs.shape[0])
        costs = costs + _TIE * (float(costs.mean()) or 1.0) * moved
    one, two = linear_sum_assignment(costs)
    return frozen(np.stack([one, two], axis=1).astype(np.int64))


def checked_distances(distances: npt.ArrayLike) -> FloatArray:
    """The distances as float64, after checking that they are a matrix of finite numbers."""
    costs = real_array(distances).astype(np.float64)
    if costs.ndim != 2 or not costs.size:
        raise ShapeError(
            f"distances must be heads x heads; found shape {costs.shape}. Pass one row per head of the first."
        )
    if not np.isfinite(costs).all():
        raise DataError("distances must be finite; found NaN or infinity. Look at the attention of the runs.")
    return costs
