"""Result of a questionnaire: a tree for every axis, and the history of the trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, FloatArray, IntArray, frozen, plain_array
from haarbor.errors import ShapeError
from haarbor.options import require_choice, require_whole_number
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import MarkovSpectrum, diffusion_map, markov_spectrum
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree, partition_distance
from haarbor.wavelets import haar_l1

__all__ = ["Convergence", "Organization"]


def _without_objective(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "objective": None}


@stored_result("Convergence", version=2, upgrades={1: _without_objective})
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Convergence:
    """How much each iteration changed the trees, and how well the tensor fits them.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.plots.convergence_figure : Draws the iterations.
    """

    iterations: IntArray
    """1, 2, ..., shape (n,)."""
    tree_change: Mapping[str, FloatArray]
    """For each axis the partition distance between its tree and the one of the iteration before, shape (n,).

    The first entry of the axis without an initial tree is NaN.
    """
    coherence: FloatArray
    """l1 norm of the Haar expansion on all trees of the iteration, shape (n,); lower is better."""
    objective: FloatArray | None
    """What Haar trees lower: the coherence over that on the first trees, plus the price of depth, shape
    (n,). None for other trees, which lower nothing."""


def _as_exact(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "approximation_error": None}


@stored_result("Organization", version=2, upgrades={1: _as_exact})
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Organization:
    """Trees on every axis of a tensor, found by a questionnaire.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.Convergence : How much each iteration changed.
    haarbor.plots.organized_matrix_figure : Draws a head in tree order.
    haarbor.plots.tree_figure : Draws a tree.
    """

    shape: tuple[int, ...]
    trees: Mapping[str, PartitionTree]
    """Final tree of each axis."""
    history: Mapping[str, tuple[PartitionTree, ...]]
    """All trees of each axis, oldest first; every axis but the last begins with its initial tree, and with
    Haar trees the last one too."""
    affinities: Mapping[str, FloatArray]
    """Last affinity of each axis, shape (n, n)."""
    initial_affinities: Mapping[str, FloatArray]
    """First affinity of every axis but the last; none where the first tree was not built from it."""
    period: int
    """Number of iterations after which the trees repeat: 1 if they settled, 2 or more if they cycle, 0 if
    they had not repeated by the last iteration. Haar trees never cycle: 1 if the objective no longer fell by
    more than the tolerance, else 0."""
    n_iterations: int
    """Iterations made; fewer than asked for if the trees settled."""
    settings: QuestionnaireSettings
    approximation_error: float | None = None
    """Relative standard error of the distances where they were estimated (``settings.approximate``), from the
    folders that were drawn and rather too large than too small; None where all folders were summed."""

    @property
    def axes(self) -> tuple[str, ...]:
        """Axis names, in the order of the tensor."""
        return self.settings.axes

    @property
    def converged(self) -> bool:
        """Whether the trees settled: the last iteration left them, or the objective, all but unchanged."""
        return self.period == 1

    def __repr__(self) -> str:
        sizes = " x ".join(f"{n} {axis}" for axis, n in zip(self.axes, self.shape, strict=True))
        state = "converged" if self.converged else "not converged"
        if self.period > 1:
            state = f"period {self.period}"
        plural = "s" if self.n_iterations > 1 else ""
        if self.settings.approximate is not None:
            state += f", from {self.settings.approximate} folders drawn at random"
        return f"Organization({sizes}; {self.n_iterations} iteration{plural}, {state})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts, and the affinity of every axis in tree order."""
        from haarbor.notebook import facts_html, matrix_picture

        sizes = {axis: str(n) for axis, n in zip(self.axes, self.shape, strict=True)}
        state = "settled" if self.converged else "did not settle"
        if self.period > 1:
            state = f"go round in {self.period}"
        facts = {
            "axes": ", ".join(f"{n} {axis}" for axis, n in sizes.items()),
            "iterations": f"{self.n_iterations}; the trees {state}",
            "levels of the trees": ", ".join(f"{axis} {tree.n_levels}" for axis, tree in self.trees.items()),
            "trees": self.settings.tree,
            "first affinity": self.settings.initial if self.initial_affinities else "none",
            "masked entries": self.settings.masked_entries,
        }
        pictures = []
        for axis in self.axes:
            order = self.order(axis)
            affinity = self.affinities[axis][np.ix_(order, order)]
            caption = f"{axis}: affinity in tree order"
            pictures.append((caption, matrix_picture(affinity, caption)))
        return facts_html("Organization", facts, pictures)

    def spectrum(self, axis: str) -> MarkovSpectrum:
        """Markov spectrum of the last affinity of an axis."""
        return markov_spectrum(self.affinities[self._known(axis)])

    def embedding(self, axis: str, dimensions: int = 3, time: float = 1.0) -> FloatArray:
        """Diffusion map of an axis, largest non-trivial eigenvalues first.

        Parameters
        ----------
        axis : str
        dimensions : int, default 3
        time : float, default 1
            Diffusion time.

        Returns
        -------
        ndarray of float64, shape (n, dimensions)
            ``n - 1`` columns if there are not more items than `dimensions`.
        """
        return diffusion_map(self.affinities[self._known(axis)], dimensions, time).coordinates

    def order(self, axis: str) -> IntArray:
        """Items of an axis in the order of the leaves of its tree: folders together, similar leaves adjacent.

        Children of a folder are ordered by their mean of the second eigenvector.

        Returns
        -------
        ndarray of int, shape (n,)
        """
        tree = self.trees[self._known(axis)]
        if tree.n_items == 1:
            return np.zeros(1, dtype=np.int64)
        # Rounded, so that identical items are ordered by their numbers and not by rounding errors.
        return tree.leaf_order(np.round(self.spectrum(axis).eigenvectors[:, 1], 10))

    def rearranged(self, X: npt.ArrayLike) -> AnyArray:
        """`X` with every axis in leaf order, for any array of the shape that was organised.

        Raises
        ------
        ShapeError
            If `X` has another shape.
        """
        # A masked array stays one: its mask is put in order with it.
        array: AnyArray = X if isinstance(X, np.ma.MaskedArray) else plain_array(X)
        if array.shape != self.shape:
            raise ShapeError(
                f"the tensor must have shape {self.shape}; found {array.shape}. "
                "Pass one like the tensor that was organised."
            )
        return array[np.ix_(*(self.order(axis) for axis in self.axes))]

    def iteration_trees(self, iteration: int) -> dict[str, PartitionTree]:
        """Trees after an iteration, counted from 1."""
        number = require_whole_number("iteration", iteration, 1, self.n_iterations)
        return {
            axis: trees[number - 1 + len(trees) - self.n_iterations] for axis, trees in self.history.items()
        }

    def convergence(self, X: npt.ArrayLike) -> Convergence:
        """How the iterations changed the trees, and the coherence of `X` on them.

        Parameters
        ----------
        X : array_like of float, of the shape that was organised
            The tensor, or another one to be measured on the same trees.

        Returns
        -------
        Convergence
        """
        changes: dict[str, FloatArray] = {}
        for axis, trees in self.history.items():
            steps = [partition_distance(a, b) for a, b in pairwise(trees)]
            missing = [np.nan] * (self.n_iterations - len(steps))
            changes[axis] = frozen(np.array(missing + steps))
        coherence = [
            haar_l1(X, self.iteration_trees(iteration), self.axes)
            for iteration in range(1, self.n_iterations + 1)
        ]
        return Convergence(
            iterations=frozen(np.arange(1, self.n_iterations + 1)),
            tree_change=changes,
            coherence=frozen(np.array(coherence)),
            objective=self._objective(X, coherence),
        )

    def _objective(self, X: npt.ArrayLike, coherence: list[float]) -> FloatArray | None:
        if self.settings.tree != "haar":
            return None
        first = haar_l1(X, {axis: trees[0] for axis, trees in self.history.items()}, self.axes)
        depth = [
            sum(tree.relative_depth for tree in self.iteration_trees(iteration).values())
            for iteration in range(1, self.n_iterations + 1)
        ]
        share = np.array(coherence) / first if first else np.ones(len(coherence))
        return frozen(share + self.settings.restraint * np.array(depth))

    def _known(self, axis: str) -> str:
        require_choice("axis", axis, self.axes)
        return axis
