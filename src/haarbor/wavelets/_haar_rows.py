"""Slices of a tensor as rows, each expanded in the Haar functions of the other axes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import ordered_results, usable_cores
from haarbor.trees import PartitionTree
from haarbor.wavelets._haar_transform import transform_along

__all__ = ["write_haar_rows"]


def write_haar_rows(
    tensor: FloatArray, place: int, trees: Mapping[int, PartitionTree], out: FloatArray
) -> None:
    """Write the slices along the axis at `place`, expanded along the trees of other axes, into `out`.

    Parameters
    ----------
    tensor : ndarray of float32 or float64
        Finite and of ordinary size.
    place : int
        Position of the axis whose slices become rows.
    trees : mapping of int to PartitionTree
        By position.
    out : ndarray, shape (n, size of a slice), C order
        Of the type of the tensor.

    See Also
    --------
    haarbor.haar_transform : Coefficients of a tensor.
    haarbor.haar_tree : Tree with a small l1 norm.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> rows = np.empty((3, 2))
    >>> write_haar_rows(np.array([[1.0, 2.0, 3.0], [1.0, 0.0, 5.0]]), 1, {0: pair}, rows)
    >>> rows.round(4).tolist()
    [[1.4142, 0.0], [1.4142, 1.4142], [5.6569, -1.4142]]
    """
    others = [other for other in range(tensor.ndim) if other != place]
    target = out.reshape(tensor.shape[place], *(tensor.shape[other] for other in others))
    _copy_slices(tensor, place, target)
    for position, other in enumerate(others, start=1):
        if other in trees:
            transform_along(target, position, trees[other])


def _copy_slices(tensor: FloatArray, place: int, target: FloatArray) -> None:
    moved = np.moveaxis(tensor, place, 0)
    if place == 0:
        np.copyto(target, moved)
        return

    # One slice of the first axis after another: it fits into the cache, where the axes change places.
    def copy(first: int) -> None:
        target[:, first] = moved[:, first]

    for _ in ordered_results(copy, range(tensor.shape[0]), usable_cores()):
        pass
