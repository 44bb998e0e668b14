"""Matrices that are too large for a page, made smaller: each square block becomes its mean."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import AnyArray, FloatArray

__all__ = ["coarse_matrix", "coarse_size"]


def coarse_size(size: int, block: int) -> int:
    """Number of blocks along an axis; the last block may be smaller.

    Examples
    --------
    >>> coarse_size(7, 3)
    3
    """
    return -(-size // block)


def coarse_matrix(matrix: AnyArray, block: int) -> FloatArray:
    """Means over blocks of `block` x `block` entries; blocks at the end may be smaller.

    Parameters
    ----------
    matrix : ndarray of float, shape (n_rows, n_columns)
    block : int

    Returns
    -------
    ndarray of float64

    Examples
    --------
    >>> coarse_matrix(np.array([[1.0, 3.0, 5.0], [1.0, 3.0, 7.0]]), 2).tolist()
    [[2.0, 6.0]]
    """
    values: FloatArray = np.asarray(matrix, dtype=np.float64)
    if block == 1:
        return values
    rows, columns = np.arange(0, values.shape[0], block), np.arange(0, values.shape[1], block)
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
    heights = np.diff(np.append(rows, values.shape[0]))
    widths = np.diff(np.append(columns, values.shape[1]))
    means: FloatArray = sums / heights[:, None] / widths[None, :]
    return means
