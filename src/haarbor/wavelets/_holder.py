"""Mixed Hölder regularity of a matrix on its trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen, real_array
from haarbor.binary_scale import unscaled
from haarbor.memory import require_memory
from haarbor.named_axes import checked_tensor
from haarbor.options import require_seed, require_whole_number
from haarbor.trees import PartitionTree, require_trees_fit, row_and_column_trees
from haarbor.wavelets._coefficient_decay import CoefficientDecay, HuberFit, coefficient_decay, huber_fit

__all__ = ["HolderExponent", "holder_exponent"]

QUANTILES = (0.5, 0.9, 0.99)
_MOST_DRAWS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HolderExponent:
    """Mixed Hölder exponent of a matrix on two trees, with error bars and a control.

    See Also
    --------
    haarbor.holder_exponent : Smoothness on trees.
    """

    alpha: float
    """Slope of the log of mixed differences on the log of the size of the folders split."""
    alpha_row: float
    """Slope along rows; NaN where all row folders split are of one size."""
    alpha_column: float
    """Slope along columns; NaN where all column folders split are of one size."""
    alpha_error: float
    """Standard deviation of `alpha` over the bootstrap draws."""
    alpha_row_error: float
    """Standard deviation of `alpha_row` over the bootstrap draws."""
    alpha_column_error: float
    """Standard deviation of `alpha_column` over the bootstrap draws."""
    constants: FloatArray
    """Quantiles of D / size^alpha, at `quantiles`."""
    quantiles: FloatArray
    shuffled_alpha: float
    """The exponent on the same trees with rows and columns shuffled, mean over the shuffles."""
    shuffled_alpha_error: float
    """Standard deviation over the shuffles."""
    n_used: int
    """Number of mixed coefficients used in the regression."""
    n_zero: int
    """Number of mixed coefficients left out because they are zero up to rounding."""
    n_draws: int
    n_shuffles: int
    seed: int

    def __repr__(self) -> str:
        return (
            f"HolderExponent(alpha {self.alpha:.3f} ± {self.alpha_error:.3f}, rows {self.alpha_row:.3f}, "
            f"columns {self.alpha_column:.3f}; shuffled {self.shuffled_alpha:.3f})"
        )


def holder_exponent(
    f: npt.ArrayLike,
    row_tree: PartitionTree | None = None,
    column_tree: PartitionTree | None = None,
    *,
    n_draws: int = 200,
    n_shuffles: int = 3,
    seed: int = 0,
    trees: Mapping[str, PartitionTree] | None = None,
) -> HolderExponent:
    r"""Exponent with which the mixed differences of a matrix fall from coarse to fine folders.

    A matrix is mixed-Hölder of exponent :math:`\alpha` on two trees if its mixed differences are at
    most :math:`C (|F|/N \cdot |G|/M)^\alpha` on folders F and G. White noise has an exponent of about
    -0.5 and not 0, so compare with `shuffled_alpha`, never with zero.

    Parameters
    ----------
    f : array_like of float, shape (N, M)
        N and M at least 2.
    row_tree, column_tree : PartitionTree
    n_draws : int, default 200
        Draws of the bootstrap.
    n_shuffles : int, default 3
        Shuffles of the control.
    seed : int, default 0
    trees : mapping of axis name to PartitionTree, optional
        {"query": row tree, "key": column tree}, such as the trees of an Organization, in place of
        `row_tree` and `column_tree`.

    Returns
    -------
    HolderExponent

    Raises
    ------
    ShapeError, TreeError, DataError
        If the matrix is not finite, a tree does not fit, or there is no mixed difference.
    SettingError
        If a number of draws or shuffles, or the seed, is not a whole number within bounds.

    See Also
    --------
    haarbor.datasets.haar_series : A matrix of known smoothness.
    haarbor.analysis.run_regularity : Exponents of every head of a run.
    haarbor.paraproduct : A nonlinearity, split.

    Notes
    -----
    :math:`D_{ij} = |c_{ij}| / (s_i s_j)`, :math:`s = \sqrt{ab/(a+b)}`, of the mixed Haar coefficients
    is regressed on :math:`X_{ij}`, both in logarithms, :math:`X` the product of the shares of the
    folders that the functions split (not of their supports: those read too low on lopsided trees);
    Huber's loss at 1.345 robust standard deviations. The bootstrap draws row functions and column
    functions with replacement, independently, and takes one Newton step from the fit for each draw.
    One regressor for `alpha`, two for `alpha_row` and `alpha_column`. :math:`O(NM)` per draw.

    Examples
    --------
    >>> halves = PartitionTree([[0] * 4, [0, 0, 1, 1], [0, 1, 2, 3]])
    >>> step, fine = np.array([1, 1, -1, -1.0]), np.array([1, -1, 1, -1.0])
    >>> f = np.outer(step + 0.5 * fine, step + 0.5 * fine)  # halves as large on folders half as large
    >>> found = holder_exponent(f, halves, halves)
    >>> round(found.alpha, 6), round(found.alpha_row, 6)
    (1.0, 1.0)
    """
    # At least two, because one alone has no standard deviation.
    n_draws = require_whole_number("n_draws", n_draws, 2, _MOST_DRAWS)
    n_shuffles = require_whole_number("n_shuffles", n_shuffles, 2, _MOST_DRAWS)
    seed = require_seed(seed)
    row_tree, column_tree = row_and_column_trees(row_tree, column_tree, trees)
    array, axes = real_array(f, "the function"), ("row", "column")
    require_trees_fit({"row": row_tree, "column": column_tree}, axes, array.shape)
    matrix = checked_tensor(array, axes).astype(np.float64)
    require_memory(
        8 * 8 * n_draws * sum(matrix.shape), f"{n_draws} draws of a bootstrap", "Pass a smaller n_draws."
    )
    rng = np.random.default_rng(seed)
    decay = coefficient_decay(matrix, row_tree, column_tree)
    overall, separate = huber_fit(decay, separate=False), huber_fit(decay, separate=True)
    draws = [rng.multinomial(n, np.full(n, 1 / n), size=n_draws) for n in decay.log_differences.shape]
    alpha = float(overall.slopes[0])
    spread = _bootstrap_deviation(decay, overall, *draws)
    spread_apart = _bootstrap_deviation(decay, separate, *draws)
    product = decay.log_row_sizes[:, None] + decay.log_column_sizes
    excess = (decay.log_differences - np.nan_to_num(alpha) * product)[decay.used]
    with np.errstate(over="ignore"):
        constants = np.exp(np.quantile(excess, QUANTILES))
    shuffled = [_shuffled_alpha(matrix, row_tree, column_tree, rng) for _ in range(n_shuffles)]
    return HolderExponent(
        alpha=alpha,
        alpha_row=float(separate.slopes[0]),
        alpha_column=float(separate.slopes[1]),
        alpha_error=float(spread[0]),
        alpha_row_error=float(spread_apart[0]),
        alpha_column_error=float(spread_apart[1]),
        constants=frozen(unscaled(constants, 0, "the constants of the exponent")),
        quantiles=frozen(np.array(QUANTILES)),
        shuffled_alpha=float(np.mean(shuffled)),
        shuffled_alpha_error=float(np.std(shuffled)),
        n_used=int(decay.used.sum()),
        n_zero=int((~decay.used).sum()),
        n_draws=n_draws,
        n_shuffles=n_shuffles,
        seed=seed,
    )


def _shuffled_alpha(
    matrix: FloatArray, row_tree: PartitionTree, column_tree: PartitionTree, rng: np.random.Generator
) -> float:
    shuffled = matrix[np.ix_(rng.permutation(matrix.shape[0]), rng.permutation(matrix.shape[1]))]
    return float(huber_fit(coefficient_decay(shuffled, row_tree, column_tree), separate=False).slopes[0])


def _bootstrap_deviation(
    decay: CoefficientDecay, fit: HuberFit, row_counts: npt.ArrayLike, column_counts: npt.ArrayLike
) -> FloatArray:
    """Standard deviation of the slopes over draws of rows and columns, with one Newton step per draw.

    Each regressor varies along one axis only, so every sum of a draw is a bilinear form in its counts,
    and all draws together are a few matrix products.
    """
    if not np.isfinite(fit.slopes).all() or fit.cut == 0:
        # An exact fit has no error, and a slope that is not determined has none either.
        return np.where(np.isfinite(fit.slopes), 0.0, np.nan)
    a, b = decay.log_row_sizes, decay.log_column_sizes
    rows: FloatArray = np.asarray(row_counts, dtype=np.float64)
    columns: FloatArray = np.asarray(column_counts, dtype=np.float64)
    inside = (decay.used & (np.abs(fit.residuals) <= fit.cut)).astype(np.float64)
    score = np.where(decay.used, np.clip(fit.residuals, -fit.cut, fit.cut), 0.0)
    row_powers = [rows, rows * a, rows * a**2]

    def forms(matrix: FloatArray, powers: int) -> list[list[FloatArray]]:
        right = [columns, columns * b, columns * b**2][:powers]
        halves = [matrix @ side.T for side in right]
        return [[np.einsum("dn,nd->d", left, half) for half in halves] for left in row_powers[:powers]]

    h, g = forms(inside, 3), forms(score, 2)
    normal = np.array([[h[0][0], h[1][0], h[0][1]], [h[1][0], h[2][0], h[1][1]], [h[0][1], h[1][1], h[0][2]]])
    right = np.array([g[0][0], g[1][0], g[0][1]])
    if fit.slopes.size == 1:
        join = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        normal = np.einsum("pi,pqd,qj->ijd", join, normal, join)
        right = join.T @ right
    determinate = np.linalg.det(normal.transpose(2, 0, 1)) > 0
    if determinate.sum() < 2:
        return np.full(fit.slopes.size, np.nan)
    steps = np.linalg.solve(normal.transpose(2, 0, 1)[determinate], right.T[determinate][..., None])[..., 0]
    deviation: FloatArray = steps[:, 1:].std(axis=0)
    return deviation
