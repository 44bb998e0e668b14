"""Distances between the rows of a block over one of its sections, prepared once and summed in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines._pairwise_kernels import add_l1_rows, reaches
from haarbor.engines._sparse_kernels import Entries, add_entries_l1, column_counts, entries

__all__ = ["SectionSums"]

# A pair of entries that are not zero takes about eight times as long, looked up, as one of a dense row;
# columns that are not zero in less than this share of the rows are summed sooner entry by entry.
_SPARSE_COLUMN = 0.3
# A section is looked at closer if less than this share of what its rows reach over is not zero. Every
# so many rows are counted for that.
_SPARSE_SECTION = 0.5
_SAMPLED = 8
_GRAIN = 16


class SectionSums:
    """L1 distances between rows over the columns of one section.

    Columns that are zero in most rows are summed entry by entry, the others side by side.

    Parameters
    ----------
    rows : ndarray of float32 or float64, shape (n, width)
        C order; it must stay as it is until all is summed.
    begin, end : int
        The columns of the section.
    sparse : bool, default True
        Whether columns that are zero in most rows are looked for; where there is little to sum, that pays
        less than it takes to compile.
    """

    def __init__(self, rows: FloatArray, begin: int, end: int, *, sparse: bool = True) -> None:
        self._rows, self._begin, self._end = rows, begin, end
        self._reaches = reaches(rows, begin, end)
        self._entries: Entries | None = None
        if not sparse:
            return
        starts, stops = self._reaches.extents[:2, ::_SAMPLED]
        reached = _GRAIN * int((stops - starts).sum())
        sample = rows[::_SAMPLED, begin:end]
        if reached and np.count_nonzero(sample) < _SPARSE_SECTION * reached:
            self._set_apart()

    def _set_apart(self) -> None:
        """Set sparse columns apart from the others, which move together."""
        counts = column_counts(self._rows, self._begin, self._end)
        sparse = counts < _SPARSE_COLUMN * self._rows.shape[0]
        columns = np.flatnonzero(sparse & (counts > 0))
        self._entries = entries(self._rows, self._begin + columns, counts[columns])
        dense = self._begin + np.flatnonzero(~sparse)
        # Up to a whole grain, because sums over whole vector registers are quicker.
        width = -(-dense.size // _GRAIN) * _GRAIN
        rows: FloatArray = np.zeros((self._rows.shape[0], width), self._rows.dtype)
        np.take(self._rows, dense, axis=1, out=rows[:, : dense.size])
        self._rows, self._begin, self._end = rows, 0, width
        self._reaches = reaches(rows, 0, width)

    def add(self, part: tuple[int, int], out: FloatArray, stop: Any) -> None:
        """Add the distances of some rows i to later rows j to ``out[i, j]``.

        Parameters
        ----------
        part : (int, int)
            First row, a multiple of four, and one past the last.
        out : ndarray of float64, shape (n, n)
            What is on and below its diagonal may be overwritten, in these rows only.
        stop : ndarray of uint8, shape (1,)
            The sums end early, unfinished, when another thread sets it to anything but 0.
        """
        if self._entries is not None:
            add_entries_l1(self._entries, part, out, stop)
        if self._end > self._begin:
            add_l1_rows(self._rows, self._begin, self._end, self._reaches, part, out, stop)
