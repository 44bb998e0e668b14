"""Sums of absolute differences in parts, each some rows of the matrix, for several machines."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._cpu import CpuEngine

__all__ = ["RowsEngine", "joined_rows", "row_parts"]


class RowsEngine(CpuEngine):
    """The CPU engine for some rows of the distances; everything else in what it returns is to be ignored.

    Every entry is summed over all blocks in their order, as in one process, so parts of several machines make
    the same bits. Sums over some of the blocks would not: floating-point sums depend on their order.

    Parameters
    ----------
    rows : (int, int)
        First row, a multiple of four, and one past the last.
    threads : int, optional
    """

    def __init__(self, rows: tuple[int, int], threads: int | None = None) -> None:
        super().__init__(threads)
        self._rows = rows

    def _asked_rows(self, n_items: int) -> tuple[int, int]:
        return self._rows


def row_parts(n_items: int, n_parts: int) -> list[tuple[int, int]]:
    """Ranges of rows with about as many pairs (row, later row) each; they begin at multiples of four.

    Examples
    --------
    >>> row_parts(100, 2)
    [(0, 28), (28, 100)]
    >>> row_parts(3, 4)
    [(0, 3)]
    """
    shares = [n_items * (1 - math.sqrt(1 - part / n_parts)) for part in range(1, n_parts)]
    cuts = sorted({4 * round(share / 4) for share in shares} - {0})
    inside = [cut for cut in cuts if cut < n_items]
    return list(zip([0, *inside], [*inside, n_items], strict=True))


def joined_rows(parts: Sequence[FloatArray], n_items: int) -> FloatArray:
    """Distances from the rows of all parts, in their order; only what is above the diagonal is looked at.

    Parameters
    ----------
    parts : sequence of ndarray, shape (n_targets, rows of the part, n_items)

    Returns
    -------
    ndarray of float64, shape (n_targets, n_items, n_items)
        Symmetric, zero diagonal.
    """
    from haarbor.engines._pairwise_kernels import mirror

    joined: FloatArray = np.concatenate(parts, axis=1)
    for matrix in joined:
        mirror(matrix)
    return joined
