"""Folder means of a matrix, which has no outer axes: all folders of its other axis at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.transport._block_shape import SECTION_GRAIN
from haarbor.transport._folder_features import RaisedFolders

__all__ = ["MatrixBlock"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MatrixBlock:
    """The entries of a matrix, or the weighted means over its raised folders, one row per item."""

    items: FloatArray
    """The matrix, one row per item; its means are formed sooner if every feature is contiguous."""
    raised: RaisedFolders | None
    """Folders of the columns; None stands for the columns themselves, with weight 1."""
    target: int
    """Matrix to which the differences add."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.items.dtype

    @property
    def section_ends(self) -> IntArray:
        """End of the one section, rounded up to the grain."""
        n_features = self.items.shape[1] if self.raised is None else self.raised.n_folders
        return np.array([-(-n_features // SECTION_GRAIN) * SECTION_GRAIN])

    @property
    def section_targets(self) -> IntArray:
        """The matrix to which it adds."""
        return np.array([self.target])

    def write_means(self, out: FloatArray) -> None:
        """Write the weighted folder means into `out`, zeros after the last."""
        from haarbor.transport._means_kernels import matrix_means

        if self.raised is None:
            out[:, : self.items.shape[1]] = self.items
            out[:, self.items.shape[1] :] = 0
            return
        raised, dtype = self.raised, self.items.dtype
        out[:, raised.n_folders :] = 0
        matrix_means(
            np.ascontiguousarray(self.items.T), raised.children, raised.child_begins,
            raised.scale.astype(dtype), raised.column,
            np.zeros((raised.n_folders, self.items.shape[0]), dtype), out,
        )  # fmt: skip
