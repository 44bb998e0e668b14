"""Sums of absolute differences in parts, each some rows of the matrix, for several machines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._cpu import CpuEngine
from haarbor.engines._mirrored_square import mirror

__all__ = ["RowsEngine", "joined_rows", "row_parts"]

_STRIPS_PER_PART = 16

Strips = Sequence[tuple[int, int]]


class RowsEngine(CpuEngine):
    """The CPU engine for some rows of the distances; everything else in what it returns is to be ignored.

    Every entry is summed over all blocks in their order, as in one process, so parts of several machines make
    the same bits. Sums over some of the blocks would not: floating-point sums depend on their order.

    Parameters
    ----------
    strips : sequence of (int, int)
        Ranges of rows: the first one, a multiple of four, and one past the last.
    threads : int, optional
    """

    def __init__(self, strips: Strips, threads: int | None = None) -> None:
        super().__init__(threads)
        self._asked_rows = list(strips)

    def rows_of(self, sums: FloatArray) -> FloatArray:
        """The rows that were asked for, one after the other, of what `l1_sums` returned."""
        return np.concatenate([sums[:, first:last] for first, last in self._asked_rows or ()], axis=1)


def row_parts(n_items: int, n_parts: int) -> list[list[tuple[int, int]]]:
    """Ranges of rows for each part, dealt out to and fro, so that all parts have about as much to do.

    The first rows have more later rows to be compared with; and under a causal mask some rows are longer.

    Examples
    --------
    >>> row_parts(16, 2)
    [[(0, 4), (12, 16)], [(4, 8), (8, 12)]]
    >>> row_parts(3, 4)
    [[(0, 3)]]
    """
    step = 4 * max(1, -(-n_items // (4 * n_parts * _STRIPS_PER_PART)))
    parts: list[list[tuple[int, int]]] = [[] for _ in range(n_parts)]
    for place, first in enumerate(range(0, n_items, step)):
        turn, part = divmod(place, n_parts)
        parts[part if turn % 2 == 0 else n_parts - 1 - part].append((first, min(first + step, n_items)))
    return [part for part in parts if part]


def joined_rows(
    parts: Sequence[Strips], rows: Sequence[FloatArray], n_targets: int, n_items: int
) -> FloatArray:
    """Distances from the rows of all parts; only what is above the diagonal is looked at.

    Parameters
    ----------
    parts : sequence of sequence of (int, int)
        What :func:`row_parts` returned.
    rows : sequence of ndarray, shape (n_targets, rows of the part, n_items)
    n_targets, n_items : int

    Returns
    -------
    ndarray of float64, shape (n_targets, n_items, n_items)
        Symmetric, zero diagonal.
    """
    joined: FloatArray = np.empty((n_targets, n_items, n_items))
    for strips, found in zip(parts, rows, strict=True):
        begin = 0
        for first, last in strips:
            joined[:, first:last] = found[:, begin : begin + last - first]
            begin += last - first
    for matrix in joined:
        mirror(matrix)
    return joined
