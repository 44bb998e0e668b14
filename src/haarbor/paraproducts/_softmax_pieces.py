"""Pieces of the decomposition of the row softmax without masked entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, real_array
from haarbor.engines import ordered_results, usable_cores
from haarbor.errors import ShapeError
from haarbor.named_axes import boolean_array, checked_tensor
from haarbor.paraproducts._folder_axis import FolderAxis, folder_sums
from haarbor.paraproducts._scale_pieces import AxisSet

__all__ = ["ColumnLevels", "ConstantSpread", "SoftmaxPieces", "column_levels", "row_softmax"]

_ROW, _COLUMN = (0,), (1,)


class ConstantSpread(NamedTuple):
    """Mean and standard deviation of the constants of the pair sum, as densities, which are 1 if uniform."""

    mean: float
    deviation: float


def row_softmax(f: npt.ArrayLike, valid: npt.ArrayLike | None = None) -> FloatArray:
    r"""Softmax of every row over its valid entries, 0 elsewhere; a row without valid entries is all 0.

    Parameters
    ----------
    f : array_like of float, shape (N, M)
    valid : array_like of bool, shape (N, M), optional
        True where an entry is valid; valid entries must be finite.

    Returns
    -------
    ndarray of float64, shape (N, M)

    See Also
    --------
    haarbor.softmax_invariance : How nearly linear the softmax of a head is.
    haarbor.paraproduct : A nonlinearity, split.

    Notes
    -----
    :math:`p_{ij} = e^{f_{ij}} / \sum_{k \text{ valid}} e^{f_{ik}}`.

    Examples
    --------
    >>> row_softmax(np.array([[0.0, np.log(3.0)], [1.0, 900.0]]), np.array([[True, True], [True, False]]))
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    array = real_array(f, "the function")
    known = None if valid is None else boolean_array(valid)
    if known is not None and known.shape != array.shape:
        raise ShapeError(
            f"mask must have the shape of the function, {array.shape}; found {known.shape}. "
            "Pass one entry for each."
        )
    matrix = checked_tensor(array, ("row", "column"), valid=known).astype(np.float64, copy=False)
    shown = matrix if known is None else np.where(known, matrix, -np.inf)
    largest = shown.max(axis=1, keepdims=True)
    # The difference of two huge entries of opposite sign overflows; the share of the smaller is zero.
    with np.errstate(over="ignore"):
        weights: FloatArray = np.exp(shown - np.where(np.isfinite(largest), largest, 0.0))
    total = weights.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return shares


class ColumnLevels(NamedTuple):
    """Folders of all levels of the column tree in one array, for compiled loops."""

    members: IntArray
    above: IntArray
    begins: IntArray


def column_levels(axis: FolderAxis) -> ColumnLevels:
    """Folders of all levels of a column tree, and the position of the parent of each."""
    counts = [folders.size for folders in axis.level_folders]
    begins = np.concatenate([[0], np.cumsum(counts)])
    above = [np.full(1, -1)] + [places + begins[i] for i, places in enumerate(axis.level_parents)]
    return ColumnLevels(np.concatenate(axis.level_folders), np.concatenate(above), begins)


def _in_stretches(work: Callable[[int, int], None], n_rows: int, most: int = 64) -> None:
    """Call `work` on ranges of rows, several at a time; each call writes its own rows only."""
    begins = range(0, n_rows, most)
    for _ in ordered_results(lambda begin: work(begin, min(begin + most, n_rows)), begins, usable_cores()):
        pass


class SoftmaxPieces:
    r"""Pieces for the softmax of every row of :math:`f`, all entries valid.

    Notes
    -----
    :math:`p_{\ell s}`, the softmax of the means, is constant on column folders of level :math:`s`,
    over which :math:`y` and :math:`w` average to zero; so the derivatives of the softmax are
    :math:`J[w] = p w`, :math:`J[y] = p y`, :math:`J[x] = p (x - \langle p, x\rangle)` and
    :math:`H[x, y] = p (x - \langle p, x\rangle) y`, and the terms of a scale pair live where both
    folders split. :math:`O(|T_r||T_c|)`.
    """

    n_axes = 2

    def __init__(self, f: FloatArray, axes: tuple[FolderAxis, FolderAxis]) -> None:
        from haarbor.paraproducts._softmax_kernels import level_centres, level_log_sums

        self._f = f
        self._rows, self._columns = rows, columns = axes
        means = folder_sums(f, axes)
        means /= rows.sizes[:, None]
        means /= columns.sizes
        self._means = means
        self._levels = levels = column_levels(columns)
        self._log_sums = log_sums = np.empty((rows.n_folders, columns.n_steps + 1))
        self._centres = centres = np.zeros((rows.n_folders, columns.n_steps + 1))
        size = columns.sizes

        def sums(first: int, last: int) -> None:
            level_log_sums(means, size, levels.members, levels.begins, first, last, log_sums)

        def steps(first: int, last: int) -> None:
            level_centres(
                means, size, rows.parents, levels.members, levels.begins, log_sums, first, last, centres
            )

        _in_stretches(sums, rows.n_folders)
        _in_stretches(steps, rows.n_folders)

    def value(self) -> FloatArray:
        """Softmax of every row."""
        return row_softmax(self._f)

    def mean(self) -> FloatArray:
        """Softmax of a constant."""
        return np.full(self._f.shape, 1.0 / self._f.shape[1])

    def boundary(self, axes: AxisSet) -> FloatArray:
        """Zero along rows, because the softmax of a constant row is uniform whatever the constant."""
        if axes == _ROW:
            return np.zeros(self._f.shape)
        averaged = row_softmax(self._means[:1, self._columns.leaves])
        return np.broadcast_to(averaged - 1.0 / self._f.shape[1], self._f.shape)

    def marginal(self, axes: AxisSet) -> FloatArray:
        """The boundary minus the column sum of the mean row."""
        if axes == _ROW:
            return np.zeros(self._f.shape)
        return self.boundary(_COLUMN) - self._column_sum(np.zeros(1, dtype=np.int64))

    def linear(self, axes: AxisSet) -> FloatArray:
        """Sum over the scales of `axes` of the mixed first derivative along them."""
        if axes == _ROW:
            return self._row_sum
        if axes == _COLUMN:
            return self._items_column_sum
        return self._pairs[0]

    def linear_energy(self) -> FloatArray:
        """Energies of the pair terms."""
        return self._pairs[1]

    def constants(self) -> ConstantSpread:
        """Spread of the density M p over all rectangles of folders that have a pair term."""
        _, share = self._shares
        rows = np.unique(self._rows.parents[1:])
        inner = np.unique(self._columns.parents[1:])
        if not rows.size or not inner.size:
            return ConstantSpread(1.0, 0.0)
        density = share[rows] * self._f.shape[1]
        weights = self._rows.sizes[rows, None] * self._columns.sizes[inner]
        average = float(np.average(density, weights=weights))
        return ConstantSpread(average, float(np.sqrt(np.average((density - average) ** 2, weights=weights))))

    def differences(self) -> tuple[FloatArray, FloatArray]:
        """Sum of the exact mixed differences of the softmax over all scale pairs, and their energies."""
        from haarbor.paraproducts._softmax_kernels import level_differences

        rows, columns, levels = self._rows, self._columns, self._levels
        total = np.zeros((rows.n_folders, columns.leaves.size))
        squares = np.zeros((rows.n_folders, columns.n_steps))

        def differences(first: int, last: int) -> None:
            level_differences(
                self._means, columns.sizes, rows.parents, levels.members, levels.above, levels.begins,
                self._log_sums, first, last, total, squares,
            )  # fmt: skip

        _in_stretches(differences, rows.n_folders)
        energy = rows.sums_by_level(rows.sizes[1:, None] * squares[1:], 0)
        return rows.summed_down(total, 0), energy

    @cached_property
    def _shares(self) -> tuple[IntArray, FloatArray]:
        """For the column folders 1, 2, ... the position of the parent among those that split; p at these."""
        inner, place = np.unique(self._columns.parents[1:], return_inverse=True)
        level = self._columns.tree.pruned.last_level[inner]
        return place, np.exp(self._means[:, inner] - self._log_sums[:, level])

    @cached_property
    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        rows, columns = self._rows, self._columns
        place, share = self._shares
        parents = columns.parents[1:]
        steps = columns.step_levels[1:]
        gathered = np.zeros((rows.n_folders, columns.leaves.size))
        squares = np.zeros((rows.n_folders, columns.n_steps))

        def pairs(first: int, last: int) -> None:
            child = np.arange(max(1, first), last)
            parent = rows.parents[child]
            coarse = self._means[parent]
            x = self._means[child] - coarse
            along = coarse[:, 1:] - np.take(coarse, parents, axis=1)
            x_above = np.take(x, parents, axis=1)
            term = x[:, 1:] - x_above
            term += (x_above - self._centres[child][:, steps]) * along
            term *= np.take(share[parent], place, axis=1)
            squares[child] = columns.sums_by_level(term**2 * columns.sizes[1:], 1)
            wider = np.zeros((child.size, columns.n_folders))
            wider[:, 1:] = term
            gathered[child] = columns.summed_down(wider, 1)

        _in_stretches(pairs, rows.n_folders, max(1, (1 << 17) // max(1, columns.n_folders)))
        energy = rows.sums_by_level(rows.sizes[1:, None] * squares[1:], 0)
        return rows.summed_down(gathered, 0), energy

    @cached_property
    def _row_sum(self) -> FloatArray:
        """Sum over l of p_lS (x_lS - <p_lS, x_lS>)."""
        rows = self._rows
        items = np.take(self._means, self._columns.leaves, axis=1)
        share = np.exp(items - self._log_sums[:, -1:])
        terms = np.zeros(items.shape)
        parent = rows.parents[1:]
        terms[1:] = share[parent] * (items[1:] - items[parent] - self._centres[1:, -1:])
        return rows.summed_down(terms, 0)

    @cached_property
    def _items_column_sum(self) -> FloatArray:
        return self._column_sum(self._rows.leaves)

    def _column_sum(self, folders: IntArray) -> FloatArray:
        """Sum over s of p_s y_s for the means over some row folders."""
        place, share = self._shares
        means = self._means[folders]
        terms = np.zeros(means.shape)
        terms[:, 1:] = np.take(share[folders], place, axis=1) * (
            means[:, 1:] - np.take(means, self._columns.parents[1:], axis=1)
        )
        return self._columns.summed_down(terms, 1)
