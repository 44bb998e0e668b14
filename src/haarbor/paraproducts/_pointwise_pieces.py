"""Pieces of the decomposition of a pointwise nonlinearity, on any number of axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.engines import ordered_results, usable_cores
from haarbor.paraproducts._folder_axis import FolderAxis, folder_sums
from haarbor.paraproducts._nonlinearities import Nonlinearity, Pointwise
from haarbor.paraproducts._scale_pieces import AxisSet, subsets

__all__ = ["PointwisePieces"]

_CHUNK_ENTRIES = 1 << 17
_Terms = Callable[[dict[AxisSet, FloatArray], IntArray], FloatArray]


class PointwisePieces:
    r"""Pieces for :math:`A` applied to every entry of :math:`f`.

    Parameters
    ----------
    f : ndarray of float64, one axis per tree
    axes : sequence of FolderAxis
    nonlinearity : Nonlinearity
        With as many derivatives as there are axes.
    valid : ndarray of bool, shape of `f`, optional
        Means are taken over these entries only, and every piece is 0 elsewhere.

    Notes
    -----
    With :math:`u` the mean over a product of folders that split, and :math:`\delta_B` the mixed
    difference of the means along the axes in :math:`B` from it to a product of children,

    .. math:: \partial_\sigma \varphi = \sum_{\pi \text{ partition of } \sigma}
        A^{(|\pi|)}(u) \prod_{B \in \pi} \delta_B,

    on two axes :math:`A'(u) w + A''(u) x y`. A term is formed once for every product of
    (parent, child) pairs and added down the trees, one axis after another: linear in the size of
    the grid of folders, at most :math:`2^d` times that of :math:`f`. Under a mask, a product of
    folders without a valid entry has no mean; no valid entry lies in it, so its terms are left out.
    """

    def __init__(
        self,
        f: FloatArray,
        axes: Sequence[FolderAxis],
        nonlinearity: Nonlinearity,
        valid: BoolArray | None = None,
    ) -> None:
        self.n_axes = f.ndim
        self._axes = tuple(axes)
        self._functions = nonlinearity.derivatives
        self._valid = valid
        if valid is None:
            means = folder_sums(f, axes)
            for place, axis in enumerate(axes):
                means /= axis.sizes.reshape([-1 if i == place else 1 for i in range(f.ndim)])
            self._counts: FloatArray | None = None
        else:
            sums = folder_sums(np.where(valid, f, 0.0), axes)
            self._counts = folder_sums(valid.astype(np.float64), axes)
            # Where there is no mean the overall mean is used, because A may not be defined at 0.
            means = np.where(
                self._counts > 0, sums / np.maximum(self._counts, 1.0), sums.flat[0] / valid.sum()
            )
        self._means = means
        self._shape = f.shape
        self._linear: dict[tuple[AxisSet, AxisSet], FloatArray] = {}

    @property
    def _all(self) -> AxisSet:
        return tuple(range(self.n_axes))

    def value(self) -> FloatArray:
        """A(f) itself."""
        return self._on_items(self._functions[0](self._grid((), ())))

    def mean(self) -> FloatArray:
        """A of the mean of f."""
        return self._at(())

    def boundary(self, axes: AxisSet) -> FloatArray:
        """Exact mixed difference along `axes` with f averaged over all other axes."""
        total: FloatArray = (-1) ** len(axes) * self._at(())
        for chosen in subsets(axes):
            total = total + (-1) ** (len(axes) - len(chosen)) * self._at(chosen)
        return total

    def linear(self, axes: AxisSet) -> FloatArray:
        """Sum over the scales of `axes` of the mixed first derivative along them."""
        return self._on_items(self._linear_sum(axes, ()))

    def marginal(self, axes: AxisSet) -> FloatArray:
        """The boundary minus what the corrected form has in its place."""
        total = self.boundary(axes)
        for moving in subsets(axes):
            still = tuple(axis for axis in axes if axis not in moving)
            for fine in [(), *subsets(still)]:
                root = tuple(axis for axis in self._all if axis not in moving and axis not in fine)
                sign = (-1) ** (len(moving) + 1 + len(still) - len(fine))
                total = total - sign * self._on_items(self._linear_sum(moving, root))
        return total

    def differences(self) -> tuple[FloatArray, FloatArray]:
        """Sum of the exact differences of all scales, and their energies."""
        values = self._functions[0](self._means)

        def difference(deltas: dict[AxisSet, FloatArray], _: IntArray) -> FloatArray:
            return deltas[self._all]

        total, energy = self._summed(values, self._all, difference, self._all)
        return self._on_items(total), energy

    def linear_energy(self) -> FloatArray:
        """Energies of the terms of ``linear`` along all axes."""
        self._linear_sum(self._all, ())
        return self._energy

    @cached_property
    def _inner(self) -> list[tuple[IntArray, IntArray]]:
        """For each axis the folders that split, and for the folders 1, 2, ... which of them is the parent."""
        return [np.unique(axis.parents[1:], return_inverse=True) for axis in self._axes]

    def _grid(self, moving: AxisSet, root: AxisSet) -> FloatArray:
        """Means over all folders of the `moving` axes, the roots of the `root` axes, the items of others."""
        grid = self._means
        for place, axis in enumerate(self._axes):
            if place in root:
                grid = grid[(slice(None),) * place + (slice(0, 1),)]
            elif place not in moving:
                grid = np.take(grid, axis.leaves, axis=place)
        return grid

    def _at(self, fine: AxisSet) -> FloatArray:
        """A of the means over all axes but the `fine` ones."""
        root = tuple(axis for axis in self._all if axis not in fine)
        return self._on_items(self._functions[0](self._grid((), root)))

    def _on_items(self, values: FloatArray) -> FloatArray:
        everywhere = np.broadcast_to(values, self._shape)
        return everywhere if self._valid is None else np.where(self._valid, everywhere, 0.0)

    def _linear_sum(self, moving: AxisSet, root: AxisSet) -> FloatArray:
        if (moving, root) in self._linear:
            return self._linear[moving, root]
        grid = self._grid(moving, root)
        inside = np.ix_(
            *(
                self._inner[place][0] if place in moving else np.arange(grid.shape[place])
                for place in self._all
            )
        )
        constants: dict[Pointwise, FloatArray] = {}
        for derivative in self._functions[1 : len(moving) + 1]:
            if derivative not in constants:
                constants[derivative] = np.asarray(derivative(grid[inside]), dtype=np.float64)
        partitions = list(_set_partitions(moving))

        def taylor(deltas: dict[AxisSet, FloatArray], first: IntArray) -> FloatArray:
            total: FloatArray | float = 0.0
            for blocks in partitions:
                chosen = constants[self._functions[len(blocks)]]
                chosen = chosen[self._inner[0][1][first - 1] if 0 in moving else first]
                for place in moving:
                    if place > 0:
                        chosen = np.take(chosen, self._inner[place][1], axis=place)
                product = deltas[blocks[0]] * chosen
                for block in blocks[1:]:
                    product *= deltas[block]
                total = product if isinstance(total, float) else np.add(total, product, out=total)
            return np.asarray(total)

        summed, energy = self._summed(grid, moving, taylor, self._all if moving == self._all else ())
        if moving == self._all:
            self._energy = energy
        self._linear[moving, root] = summed
        return summed

    def _summed(
        self, grid: FloatArray, moving: AxisSet, terms: _Terms, weighed: AxisSet
    ) -> tuple[FloatArray, FloatArray]:
        """Terms of all steps of the `moving` axes added down to the items, and their energies."""
        first_axis = self._axes[0]
        shape = list(grid.shape)
        for place in moving[1:] if moving[0] == 0 else moving:
            shape[place] = self._axes[place].leaves.size
        gathered: FloatArray = np.zeros(shape)
        energy = np.zeros([self._axes[place].n_steps for place in weighed])
        begin_at = 1 if 0 in moving else 0
        step = max(1, _CHUNK_ENTRIES // max(1, int(np.prod(grid.shape[1:]))))

        def added_down(begin: int) -> FloatArray:
            first = np.arange(begin, min(begin + step, grid.shape[0]))
            term = terms(self._deltas(grid, moving, first), first)
            squares: FloatArray = np.zeros(0)
            if weighed:
                term, squares = self._weighed(term, first)
            for place in moving:
                if place > 0:
                    wider = np.zeros([n + (i == place) for i, n in enumerate(term.shape)])
                    wider[(slice(None),) * place + (slice(1, None),)] = term
                    term = self._axes[place].summed_down(wider, place)
            gathered[first] = term
            return squares

        begins = range(begin_at, grid.shape[0], step)
        for begin, squares in zip(begins, ordered_results(added_down, begins, usable_cores()), strict=True):
            if weighed:
                levels = first_axis.step_levels[begin : begin + squares.shape[0]]
                np.add.at(energy, levels, squares)
        if 0 in moving:
            gathered = first_axis.summed_down(gathered, 0)
        return gathered, energy

    def _deltas(self, grid: FloatArray, moving: AxisSet, first: IntArray) -> dict[AxisSet, FloatArray]:
        """Mixed differences from parents to children along every subset of the `moving` axes."""
        deltas: dict[AxisSet, FloatArray] = {(): grid[first]}
        if 0 in moving:
            above = grid[self._axes[0].parents[first]]
            deltas = {(): above, (0,): deltas[()] - above}
        for place in moving:
            if place > 0:
                parents = self._axes[place].parents[1:]
                child = (slice(None),) * place + (slice(1, None),)
                finer: dict[AxisSet, FloatArray] = {}
                for done, values in deltas.items():
                    above = np.take(values, parents, axis=place)
                    finer[done] = above
                    finer[(*done, place)] = values[child] - above
                deltas = finer
        return deltas

    def _weighed(self, term: FloatArray, first: IntArray) -> tuple[FloatArray, FloatArray]:
        """`term`, zero where there is no valid entry, and the energies of its rows by level."""
        child = (first, *(np.arange(1, axis.n_folders) for axis in self._axes[1:]))
        if self._counts is not None:
            counts = self._counts[np.ix_(*child)]
            term = np.where(counts > 0, term, 0.0)
            squares = term**2 * counts
        else:
            squares = term**2
            for place, axis in enumerate(self._axes):
                squares *= axis.sizes[child[place]].reshape([-1 if i == place else 1 for i in self._all])
        for place in self._all[1:]:
            squares = self._axes[place].sums_by_level(squares, place)
        return term, squares


def _set_partitions(axes: AxisSet) -> Iterator[tuple[AxisSet, ...]]:
    """All ways to part `axes` into blocks."""
    if not axes:
        yield ()
        return
    first, rest = axes[0], axes[1:]
    for blocks in _set_partitions(rest):
        yield ((first,), *blocks)
        for place, block in enumerate(blocks):
            yield (*blocks[:place], (first, *block), *blocks[place + 1 :])
