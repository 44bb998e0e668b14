"""The exact identity behind the paraproducts: a nonlinearity as a sum of differences between scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen
from haarbor.paraproducts._decomposition import MATRIX_AXES
from haarbor.paraproducts._forms import Question, require_finite_terms, sum_of_terms
from haarbor.paraproducts._nonlinearities import NonlinearityChoice
from haarbor.trees import PartitionTree, row_and_column_trees

__all__ = ["Telescoping", "telescoping"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Telescoping:
    """A nonlinearity of a function as an exact sum of differences between scales."""

    terms: Mapping[str, FloatArray]
    """The terms "mean", "boundary row", "boundary column", and "differences" summed over all scale pairs."""
    scale_energy: FloatArray
    """Energy of the exact difference of each scale pair, shape (steps of each tree)."""
    axes: tuple[str, ...]
    nonlinearity: str

    @property
    def total(self) -> FloatArray:
        """Sum of all terms: the nonlinearity of the function."""
        return sum_of_terms(self.terms)

    def __repr__(self) -> str:
        return f"Telescoping({self.nonlinearity}, {len(self.terms)} terms)"


def telescoping(
    f: npt.ArrayLike,
    row_tree: PartitionTree | None = None,
    column_tree: PartitionTree | None = None,
    nonlinearity: NonlinearityChoice = "exp",
    mask: npt.ArrayLike | None = None,
    *,
    trees: Mapping[str, PartitionTree] | None = None,
) -> Telescoping:
    r"""Nonlinearity of a matrix as the exact sum of its differences between scales.

    .. math:: A(f) = A(f_{00}) + [A(f_{L0}) - A(f_{00})] + [A(f_{0S}) - A(f_{00})] +
        \sum_{\ell s} A(u+x+y+w) - A(u+x) - A(u+y) + A(u)

    for any trees and any map A; the paraproducts approximate the last sum.

    Parameters
    ----------
    f, row_tree, column_tree, nonlinearity, mask, trees
        As for :func:`paraproduct`.

    Returns
    -------
    Telescoping

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> exact = telescoping([[0.0, 2.0], [2.0, 8.0]], pair, pair, "square")
    >>> exact.terms["differences"].tolist()
    [[7.0, -13.0], [-13.0, 23.0]]
    >>> exact.total.tolist()
    [[0.0, 4.0], [4.0, 64.0]]
    """
    pair = row_and_column_trees(row_tree, column_tree, trees)
    question = Question(f, pair, MATRIX_AXES, nonlinearity, mask)
    # Infinities and NaN are looked for afterwards and reported, so numpy need not warn about them.
    with np.errstate(all="ignore"):
        pieces = question.pieces()
        summed, energy = pieces.differences()
        terms = {
            "mean": pieces.mean(),
            "boundary row": pieces.boundary((0,)),
            "boundary column": pieces.boundary((1,)),
            "differences": summed,
        }
    require_finite_terms({**terms, "scale energies": energy}, question.name)
    return Telescoping(
        terms={name: frozen(np.array(term)) for name, term in terms.items()},
        scale_energy=frozen(energy),
        axes=question.axes,
        nonlinearity=question.name,
    )
