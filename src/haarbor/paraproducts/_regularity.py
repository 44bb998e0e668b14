"""How much smoother the residual of a paraproduct is than the function it was made for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import real_array
from haarbor.errors import DataError
from haarbor.named_axes import checked_tensor
from haarbor.options import require_real_number
from haarbor.trees import PartitionTree, require_trees_fit
from haarbor.wavelets import CoefficientDecay, coefficient_decay, huber_fit, huber_line

__all__ = ["DecaySlopes", "RegularityGain", "decay_slopes", "regularity_gain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySlopes:
    """Slopes of log mixed differences on log folder sizes; NaN where they are not determined."""

    alpha: float
    """Over all mixed coefficients."""
    row: float
    """Along rows, in a regression on both sizes."""
    column: float
    """Along columns, in a regression on both sizes."""
    row_edge: float
    """Along rows where the column function is the coarsest, so that only the row scale changes."""
    column_edge: float
    """Along columns where the row function is the coarsest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularityGain:
    """Decay of the Haar coefficients of a function and of the residual of its paraproduct."""

    function: DecaySlopes
    residual: DecaySlopes
    """Slopes are infinite if the residual is zero up to rounding."""

    @property
    def ratio(self) -> float:
        """Slope of the residual divided by that of the function; the theorem promises 2 in the limit."""
        return self.residual.alpha / self.function.alpha

    def __repr__(self) -> str:
        f, r = self.function, self.residual
        return (
            f"RegularityGain(function {f.alpha:.2f}, residual {r.alpha:.2f}; at the edges "
            f"{f.row_edge:.2f}/{f.column_edge:.2f}, {r.row_edge:.2f}/{r.column_edge:.2f})"
        )


def regularity_gain(
    f: npt.ArrayLike,
    residual: npt.ArrayLike,
    row_tree: PartitionTree,
    column_tree: PartitionTree,
    magnitude: float,
) -> RegularityGain:
    r"""Decay of the Haar coefficients of a residual, compared with those of the function.

    The mixed coefficients of a residual can decay fast on the whole, but slowly at the edges, where one
    of the two Haar functions is the coarsest of its axis. A residual of exponent :math:`2\alpha` must
    decay fast there as well.

    Parameters
    ----------
    f, residual : array_like of float, shape (N, M)
    row_tree, column_tree : PartitionTree
    magnitude : float
        Size of the numbers the residual was computed from; differences that are smaller by the working
        precision count as rounding.

    Returns
    -------
    RegularityGain

    Raises
    ------
    DataError
        If `f` has no mixed difference, or an axis has fewer than two items.

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.
    haarbor.holder_exponent : Smoothness on trees.
    """
    axes = ("row", "column")
    size = require_real_number("magnitude", magnitude, least=0)
    arrays = [real_array(f, "the function"), real_array(residual, "the residual")]
    for array in arrays:
        require_trees_fit({"row": row_tree, "column": column_tree}, axes, array.shape)
    matrix, left = (checked_tensor(array, axes).astype(np.float64, copy=False) for array in arrays)
    function = decay_slopes(coefficient_decay(matrix, row_tree, column_tree))
    try:
        rest = decay_slopes(coefficient_decay(left, row_tree, column_tree, magnitude=4 * size))
    except DataError:
        rest = DecaySlopes(alpha=np.inf, row=np.inf, column=np.inf, row_edge=np.inf, column_edge=np.inf)
    return RegularityGain(function=function, residual=rest)


def decay_slopes(decay: CoefficientDecay) -> DecaySlopes:
    """Slopes overall, along each axis, and at the edges."""
    separate = huber_fit(decay, separate=True).slopes
    # The coarsest function of an axis is its first.
    down, across = decay.used[:, 0], decay.used[0]
    return DecaySlopes(
        alpha=float(huber_fit(decay, separate=False).slopes[0]),
        row=float(separate[0]),
        column=float(separate[1]),
        row_edge=huber_line(decay.log_row_sizes[down], decay.log_differences[down, 0]),
        column_edge=huber_line(decay.log_column_sizes[across], decay.log_differences[0, across]),
    )
