"""Rows of a matrix as blocks of features, so that any engine can sum their absolute differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.engines import L1Engine, checked_sums

__all__ = ["RowBlock", "row_distances"]

# Columns of a block: with 256 rows of float32 it fits into the second cache of a core.
_COLUMNS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Columns `first` to `last` of some rows; see `haarbor.engines.FeatureBlock`."""

    rows: FloatArray
    first: int
    last: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.rows.dtype

    @property
    def section_ends(self) -> IntArray:
        """One section, the whole block."""
        return np.array([self.last - self.first])

    @property
    def section_targets(self) -> IntArray:
        """One matrix of distances."""
        return np.zeros(1, dtype=np.int64)

    def write_means(self, out: FloatArray) -> None:
        """Copy the columns."""
        out[:] = self.rows[:, self.first : self.last]


def row_distances(rows: FloatArray, engine: L1Engine) -> FloatArray:
    """L1 distances between all pairs of rows, shape (n, n).

    See Also
    --------
    haarbor.trees.device_row_distances : The same on a device.
    haarbor.haar_tree : Tree with a small l1 norm.

    Examples
    --------
    >>> from haarbor import CpuEngine
    >>> row_distances(np.array([[0.0, 0.0], [3.0, 1.0]]), CpuEngine(1)).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """
    n_items, n_columns = rows.shape
    blocks = [
        RowBlock(rows, begin, min(begin + _COLUMNS, n_columns)) for begin in range(0, n_columns, _COLUMNS)
    ]
    distances: FloatArray = checked_sums(engine.l1_sums(blocks, n_items, 1), engine, n_items, 1)[0]
    return distances
