"""How fast mixed Haar coefficients fall with folder size: robust slopes on a logarithmic scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import BoolArray, FloatArray
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.errors import DataError
from haarbor.trees import PartitionTree
from haarbor.wavelets._haar_system import HaarSystem, haar_system

__all__ = ["CoefficientDecay", "HuberFit", "coefficient_decay", "huber_fit", "huber_line"]

_TUNING = 1.345
"""Huber's constant: residuals beyond this many standard deviations count by their sign."""
_SCALE_TOL = 1e-4
"""Relative change of the scale of the residuals (their median size) below which it is kept fixed."""
_ROUNDING = 16 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CoefficientDecay:
    r"""Mixed Haar coefficients and folder sizes on a logarithmic scale; constant functions are left out.

    :math:`D_{ij} = |c_{ij}| / (s_i s_j)` with :math:`s = \sqrt{ab/(a+b)}` is the mixed difference of
    means that the coefficient measures.
    """

    log_differences: FloatArray
    """log D, shape (n_rows - 1, n_columns - 1); 0 where not `used`."""
    used: BoolArray
    """Where D is larger than rounding alone would make it."""
    log_row_sizes: FloatArray
    """log of the share of the rows in the folder each row function splits, shape (n_rows - 1,)."""
    log_column_sizes: FloatArray
    """log of the share of the columns in the folder each column function splits, shape (n_columns - 1,)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HuberFit:
    """Coefficients of a robust regression, and what the bootstrap needs to know of it."""

    slopes: FloatArray
    """One slope, or one for rows and one for columns."""
    intercept: float
    residuals: FloatArray
    cut: float
    """Residuals larger than this count by their sign only."""


def coefficient_decay(
    f: FloatArray, row_tree: PartitionTree, column_tree: PartitionTree, *, magnitude: float | None = None
) -> CoefficientDecay:
    r"""Mixed coefficients of a matrix on a log scale.

    Parameters
    ----------
    f : ndarray of float64, shape (N, M)
    row_tree, column_tree : PartitionTree
    magnitude : float, optional
        Size of the numbers `f` was computed from, which sets what counts as rounding; the largest
        entry of `f` if not given.

    Returns
    -------
    CoefficientDecay

    Raises
    ------
    DataError
        If an axis has fewer than two items, or every mixed coefficient is zero.

    See Also
    --------
    haarbor.holder_exponent : Smoothness on trees.
    haarbor.wavelets.huber_fit : The regression.

    Notes
    -----
    Of the mixed coefficients :math:`c_{ij}`: :math:`D_{ij} = |c_{ij}| / (s_i s_j)`, with
    :math:`s = \sqrt{ab/(a+b)}`.
    """
    from haarbor.wavelets._haar_kernels import analyse

    if min(f.shape) < 2:
        raise DataError(
            f"mixed coefficients need two items on each axis; found shape {f.shape}. Leave this one out."
        )
    rows, columns = haar_system(row_tree), haar_system(column_tree)
    exponent = excess_exponent(f)
    f = scaled(f, exponent)
    # On one thread, because callers that measure many heads use one thread per head.
    half: FloatArray = np.empty((1, *f.shape))
    coefficients: FloatArray = np.empty((*f.shape, 1))
    for source, system, target in (
        (np.ascontiguousarray(f)[None], rows, half),
        (half[0][:, :, None], columns, coefficients),
    ):
        sizes, width = system.node_sizes.astype(np.float64), source.shape[2]
        analyse(source, system.left, system.right, sizes, 0, width, min(width, 64), target)
    differences = np.abs(coefficients[1:, 1:, 0]) / np.outer(_scale(rows), _scale(columns))
    with np.errstate(over="ignore"):
        size = float(np.abs(f).max() if magnitude is None else np.ldexp(magnitude, -exponent))
    used = differences > _ROUNDING * size
    if not used.any():
        raise DataError(
            "a function must have mixed differences; every mixed Haar coefficient is zero. Leave it out."
        )
    logs = np.log(differences, out=np.zeros_like(differences), where=used)
    if exponent:
        logs[used] += exponent * math.log(2)
    return CoefficientDecay(
        log_differences=logs,
        used=used,
        log_row_sizes=np.log(rows.folder_sizes[1:] / rows.n_items),
        log_column_sizes=np.log(columns.folder_sizes[1:] / columns.n_items),
    )


def huber_fit(decay: CoefficientDecay, *, separate: bool) -> HuberFit:
    """Huber regression of log D on the log of the product of folder sizes, or on both logs.

    A slope is NaN if the sizes do not determine it, because all folders of an axis are of one size.

    See Also
    --------
    haarbor.wavelets.huber_line : Slope of one line.
    haarbor.holder_exponent : Smoothness on trees.
    """
    y, a, b = decay.log_differences, decay.log_row_sizes, decay.log_column_sizes
    design = np.eye(3) if separate else np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    weights = decay.used.astype(np.float64)
    beta: FloatArray = np.zeros(design.shape[1])
    residuals, cut = y, np.inf
    settled = False
    for _ in range(200):
        before = beta
        beta = _weighted_solution(design, weights, y, a, b)
        whole = design @ np.nan_to_num(beta)
        residuals = y - whole[0] - whole[1] * a[:, None] - whole[2] * b
        distances = np.abs(residuals)
        if not settled:
            cut, last = _TUNING * float(np.median(distances[decay.used])) / 0.6745, cut
            settled = abs(cut - last) <= _SCALE_TOL * cut
        if cut == 0 or np.allclose(np.nan_to_num(beta), np.nan_to_num(before), rtol=1e-10, atol=1e-12):
            break
        weights = np.where(decay.used, np.minimum(1.0, cut / np.maximum(distances, cut)), 0.0)
    return HuberFit(slopes=beta[1:], intercept=float(beta[0]), residuals=residuals, cut=cut)


def huber_line(x: FloatArray, y: FloatArray) -> float:
    """Slope of a Huber regression of `y` on `x`; NaN if `x` takes only one value.

    See Also
    --------
    haarbor.wavelets.huber_fit : The regression.

    Examples
    --------
    >>> x, y = np.arange(6.0), np.array([0.0, 2.0, 4.0, 6.0, 8.0, 50.0])
    >>> round(huber_line(x, y)), round(np.polyfit(x, y, 1)[0])
    (2, 8)
    """
    if x.size < 2 or np.ptp(x) == 0:
        return float("nan")
    line = CoefficientDecay(
        log_differences=y[None], used=np.ones((1, y.size), dtype=bool), log_row_sizes=np.zeros(1),
        log_column_sizes=x,
    )  # fmt: skip
    return float(huber_fit(line, separate=False).slopes[0])


def _scale(system: HaarSystem) -> FloatArray:
    a, b = system.positive_sizes[1:], system.negative_sizes[1:]
    scale: FloatArray = np.sqrt(a * b / (a + b))
    return scale


def _weighted_solution(
    design: FloatArray, weights: FloatArray, y: FloatArray, a: FloatArray, b: FloatArray
) -> FloatArray:
    """Least squares over a grid; each regressor varies along one axis, so sums replace a design matrix."""
    by_row, by_column = weights.sum(axis=1), weights.sum(axis=0)
    weighed = weights * y
    cross = float(a @ (weights @ b))
    normal = np.array(
        [
            [by_row.sum(), a @ by_row, b @ by_column],
            [a @ by_row, a**2 @ by_row, cross],
            [b @ by_column, cross, b**2 @ by_column],
        ]
    )
    right = np.array([weighed.sum(), a @ weighed.sum(axis=1), b @ weighed.sum(axis=0)])
    small, target = design.T @ normal @ design, design.T @ right
    # The slope of a regressor that does not vary is not determined; the others still are.
    spread = np.diag(small)[1:] - small[0, 1:] ** 2 / small[0, 0]
    known = np.concatenate([[True], spread > 1e-12 * np.maximum(np.diag(small)[1:], 1e-300)])
    beta = np.full(small.shape[0], np.nan)
    beta[known] = np.linalg.lstsq(small[np.ix_(known, known)], target[known], rcond=None)[0]
    return beta
