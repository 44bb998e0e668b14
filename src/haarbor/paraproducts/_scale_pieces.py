"""Interface of the pieces that every decomposition is made of, whatever the nonlinearity."""

from __future__ import annotations

from itertools import combinations
from typing import Protocol

from haarbor.array_types import FloatArray

__all__ = ["AxisSet", "ScalePieces", "subsets"]

AxisSet = tuple[int, ...]


class ScalePieces(Protocol):
    """Parts of a decomposition of A(f), each an array of the shape of f, in item order."""

    n_axes: int

    def value(self) -> FloatArray:
        """A(f) itself."""

    def mean(self) -> FloatArray:
        """A of the mean of f."""

    def linear(self, axes: AxisSet) -> FloatArray:
        """Sum over the scales of `axes` of the mixed first derivative along them."""

    def boundary(self, axes: AxisSet) -> FloatArray:
        """Exact mixed difference along `axes` with f averaged over all other axes."""

    def marginal(self, axes: AxisSet) -> FloatArray:
        """The boundary minus what the corrected form has in its place."""

    def differences(self) -> tuple[FloatArray, FloatArray]:
        """Sum of the exact differences of all scales, and their energies, shape (steps of each axis)."""

    def linear_energy(self) -> FloatArray:
        """Energies of the terms of ``linear`` along all axes, shape (steps of each axis)."""


def subsets(axes: AxisSet, *, proper: bool = False) -> list[AxisSet]:
    """Non-empty subsets of `axes`, small ones first; without `axes` itself if `proper`.

    Examples
    --------
    >>> subsets((0, 1))
    [(0,), (1,), (0, 1)]
    """
    largest = len(axes) - 1 if proper else len(axes)
    return [chosen for size in range(1, largest + 1) for chosen in combinations(axes, size)]
