"""Pieces of the decomposition of the row softmax under a mask."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.engines import ordered_results, usable_cores
from haarbor.paraproducts._folder_axis import FolderAxis, folder_sums
from haarbor.paraproducts._scale_pieces import AxisSet
from haarbor.paraproducts._softmax_pieces import ConstantSpread, column_levels, row_softmax

__all__ = ["MaskedSoftmaxPieces"]

_ROW, _COLUMN, _BOTH = (0,), (1,), (0, 1)
_BLOCK = 32
"""Number of rows a thread works on at a time."""

_Result = TypeVar("_Result")


class MaskedSoftmaxPieces:
    r"""Pieces for the softmax of every row of :math:`f` over its valid entries.

    Notes
    -----
    Means are over valid entries; rectangles of folders without a valid entry are never used.
    :math:`y` and :math:`w` no longer average to zero, so the full derivatives are used,
    :math:`J[v] = p (v - \langle p, v\rangle)` and
    :math:`H[x, y] = p (x_c y_c - \langle p, x_c y_c\rangle)` with centred :math:`x_c, y_c`, row by
    row: :math:`O(N |T_c|)` times the depth of the row tree. A row without a valid entry has no
    softmax: all its pieces are 0.
    """

    n_axes = 2

    def __init__(self, f: FloatArray, axes: tuple[FolderAxis, FolderAxis], valid: BoolArray) -> None:
        self._f = np.where(valid, f, 0.0)
        self._valid = valid
        self._rows, self._columns = axes
        counts = folder_sums(valid.astype(np.float64), axes)
        self._means = folder_sums(self._f, axes) / np.maximum(counts, 1.0)
        self._counts = counts[self._rows.leaves]
        self._levels = column_levels(self._columns)

    def value(self) -> FloatArray:
        """Softmax of every row over its valid entries."""
        return row_softmax(self._f, self._valid)

    def mean(self) -> FloatArray:
        """Softmax of a constant: uniform over the valid entries of each row."""
        return self._valid / np.maximum(self._counts[:, :1], 1.0)

    def boundary(self, axes: AxisSet) -> FloatArray:
        """Zero along rows; along columns the softmax of the mean row over the valid entries of each row."""
        if axes == _ROW:
            return np.zeros(self._f.shape)
        return self._averaged[1] - self.mean()

    def marginal(self, axes: AxisSet) -> FloatArray:
        """The boundary minus the column sum of the mean row."""
        if axes == _ROW:
            return np.zeros(self._f.shape)
        return self.boundary(_COLUMN) - self._averaged[0]

    def linear(self, axes: AxisSet) -> FloatArray:
        """Sum over the scales of `axes` of the mixed first derivative along them."""
        from haarbor.paraproducts._softmax_kernels import masked_rows

        if axes == _BOTH:
            return self._pairs[0]
        if axes == _COLUMN:
            return self._column_sum(self._rows.leaves)[0]
        total = np.zeros(self._f.shape)
        rows, levels = self._rows, self._levels

        def add_block(block: slice) -> None:
            masked_rows(
                self._means, self._counts[block], rows.leaves[block], rows.parents, levels.members,
                levels.begins, total[block],
            )  # fmt: skip

        self._over_blocks(add_block)
        return total

    def linear_energy(self) -> FloatArray:
        """Energies of the pair terms."""
        return self._pairs[1]

    def constants(self) -> ConstantSpread:
        """Spread of n p over all rectangles with a pair term; n is the number of valid entries of the row."""
        weight, first, second = self._pairs[2]
        if weight == 0:
            return ConstantSpread(1.0, 0.0)
        average = first / weight
        return ConstantSpread(float(average), float(np.sqrt(max(0.0, second / weight - average**2))))

    def differences(self) -> tuple[FloatArray, FloatArray]:
        """Sum of the exact mixed differences of the softmax over all scale pairs, and their energies."""
        from haarbor.paraproducts._softmax_kernels import masked_differences

        total = np.zeros(self._f.shape)
        rows, levels = self._rows, self._levels

        def block_energy(block: slice) -> FloatArray:
            energy = np.zeros((self._rows.n_steps, self._columns.n_steps))
            masked_differences(
                self._means, self._counts[block], rows.leaves[block], rows.parents, rows.step_levels,
                levels.members, levels.above, levels.begins, total[block], energy,
            )  # fmt: skip
            return energy

        return total, sum(self._over_blocks(block_energy), start=np.zeros(()))

    @cached_property
    def _pairs(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        from haarbor.paraproducts._softmax_kernels import masked_pairs

        total = np.zeros(self._f.shape)
        rows, levels = self._rows, self._levels

        def block_sums(block: slice) -> tuple[FloatArray, FloatArray]:
            energy, moments = np.zeros((self._rows.n_steps, self._columns.n_steps)), np.zeros(3)
            masked_pairs(
                self._means, self._counts[block], rows.leaves[block], rows.parents, rows.step_levels,
                levels.members, levels.above, levels.begins, total[block], energy, moments,
            )  # fmt: skip
            return energy, moments

        energies, moments = zip(*self._over_blocks(block_sums), strict=True)
        return total, sum(energies, start=np.zeros(())), sum(moments, start=np.zeros(()))

    @cached_property
    def _averaged(self) -> tuple[FloatArray, FloatArray]:
        return self._column_sum(np.zeros(self._f.shape[0], dtype=np.int64))

    def _column_sum(self, folders: IntArray) -> tuple[FloatArray, FloatArray]:
        from haarbor.paraproducts._softmax_kernels import masked_columns

        total, softmax = np.zeros(self._f.shape), np.zeros(self._f.shape)

        def add_block(block: slice) -> None:
            masked_columns(
                self._means, self._counts[block], folders[block], *self._levels, total[block], softmax[block]
            )

        self._over_blocks(add_block)
        return total, softmax

    def _over_blocks(self, work: Callable[[slice], _Result]) -> list[_Result]:
        """Results of `work` on blocks of rows, in order: their sum is the same for any number of threads."""
        blocks = (slice(begin, begin + _BLOCK) for begin in range(0, self._f.shape[0], _BLOCK))
        return list(ordered_results(work, blocks, usable_cores()))
