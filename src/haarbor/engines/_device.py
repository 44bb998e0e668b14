"""What the GPU engine needs of a device."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from haarbor.engines._pair_tiles import PairTiles

__all__ = ["Device"]


class Device(Protocol):
    """An array module, and some sums that such a module does not form well by itself.

    `CudaDevice` is one; arrays that are passed in and out are those of its module.
    """

    name: str
    number: int
    xp: Any
    """The array module: cupy, or one that is used like it."""

    def free_bytes(self) -> int:
        """Bytes that can still be taken."""

    def on_host(self, array: Any) -> Any:
        """The array as one of numpy."""

    def one_line_errors(self) -> AbstractContextManager[None]:
        """Context in which what fails on the device is raised as an EngineError."""

    def extremes(self, numbers: Any) -> tuple[float, float]:
        """Lowest and highest of an array, C order; both NaN if one of its numbers is."""

    def haar_coefficients(
        self, columns: Any, left: Any, right: Any, positive: Any, negative: Any, dtype: np.dtype[Any]
    ) -> Any:
        """Haar coefficients of the columns of a matrix."""

    def tiles(self, n_items: int, dtype: np.dtype[Any]) -> PairTiles:
        """How the pairs of some items are shared out; features have as many columns as its pitch."""

    def add_pair_sums(self, features: Any, n_items: int, total: Any, *, square: bool = False) -> None:
        """Add sums of absolute or squared differences between columns to a symmetric matrix."""

    def outer_sums(
        self, flat: Any, offsets: Any, begins: Any, scale: Any, folders: tuple[int, int], row_stride: int,
        n_features: int, n_items: int, pitch: int, items_are_columns: bool,
    ) -> Any:  # fmt: skip
        """Weighted sums of the matrices of some outer folders, shape (n_folders, n_features, pitch)."""

    def raised_sums(self, features: Any, children: Any, child_begins: Any, scale: Any) -> Any:
        """Weighted sums over the folders of the feature axis, shape (n_outer, n_folders, pitch)."""

    def pair_distances(self, rows: Any, pairs: Any) -> Any:
        """L1 distances between pairs of rows of a matrix, on the host, summed in float64."""

    def rotation_sums(self, rows: Any, threes: Any, shares: Any) -> Any:
        """L1 sums of both other ways to join three folders, on the host, shape (n, 4)."""
