"""A square matrix beside its transpose, in squares that stay in cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import ordered_results, usable_cores

__all__ = ["asymmetry", "symmetric_part"]

_Result = TypeVar("_Result")

# Squares of this side stay in cache, with their transpose.
_SIDE = 128
# From this number of items on, several threads share the work.
_MANY_ITEMS = 1000


def asymmetry(matrix: FloatArray) -> float:
    r"""Largest :math:`|a_{ij} - a_{ji}|`; NaN if one of them is.

    Examples
    --------
    >>> asymmetry(np.array([[9.0, 1.0], [1.5, 9.0]]))
    0.5
    """

    def largest(rows: slice) -> FloatArray:
        gaps = []
        for columns in _squares(rows):
            here, there = matrix[rows, columns], matrix[columns, rows].T
            # Mostly they are equal, which is seen sooner than by how much they are not.
            gaps.append(0.0 if (here == there).all() else float(np.abs(here - there).max()))
        return np.array(gaps)

    return float(np.max(np.concatenate(_for_strips(largest, matrix.shape[0]))))


def symmetric_part(matrix: FloatArray) -> FloatArray:
    r"""The matrix :math:`(A + A^T)/2`, equal to its transpose to the last bit.

    Examples
    --------
    >>> symmetric_part(np.array([[2.0, 1.0], [4.0, 0.0]])).tolist()
    [[2.0, 2.5], [2.5, 0.0]]
    """
    out: FloatArray = np.empty_like(matrix, order="C")

    def write(rows: slice) -> None:
        for columns in _squares(rows):
            half = matrix[rows, columns] + matrix[columns, rows].T
            half /= 2
            out[rows, columns] = half
            out[columns, rows] = half.T

    _for_strips(write, matrix.shape[0])
    return out


def _squares(rows: slice) -> list[slice]:
    """Columns of the squares of a strip of rows, up to the diagonal."""
    return [slice(left, left + _SIDE) for left in range(0, rows.start + 1, _SIDE)]


def _for_strips(work: Callable[[slice], _Result], n_items: int) -> list[_Result]:
    strips = [slice(top, top + _SIDE) for top in range(0, n_items, _SIDE)]
    threads = usable_cores() if n_items >= _MANY_ITEMS else 1
    # The last strips are the longest.
    return list(ordered_results(work, strips[::-1], threads))
