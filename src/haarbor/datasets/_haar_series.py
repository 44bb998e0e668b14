"""Random matrices of a known mixed Hölder exponent."""

from __future__ import annotations

from typing import Literal

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.errors import SettingError
from haarbor.memory import require_memory
from haarbor.options import require_choice, require_real_number, require_seed
from haarbor.trees import PartitionTree, require_tree
from haarbor.wavelets import haar_system, inverse_haar_transform

__all__ = ["haar_series"]


def haar_series(
    row_tree: PartitionTree,
    column_tree: PartitionTree,
    alpha: float,
    *,
    amplitude: float = 1.0,
    marginals: float = 1.0,
    coefficients: Literal["normal", "signs"] = "normal",
    seed: int = 0,
) -> FloatArray:
    r"""Random Haar series that is mixed-Hölder of exponent `alpha`, and no larger one, on two trees.

    Parameters
    ----------
    row_tree, column_tree : PartitionTree
        With N and M items.
    alpha : float
    amplitude : float, default 1
        Factor of the whole series.
    marginals : float, default 1
        Further factor of the parts that depend on only one variable, or on none.
    coefficients : {"normal", "signs"}, default "normal"
        Distribution of the random factors: standard normal, or +1 and -1 with equal probability.
    seed : int, default 0

    Returns
    -------
    ndarray of float64, shape (N, M)

    See Also
    --------
    haarbor.holder_exponent : Smoothness on trees.
    haarbor.paraproduct : A nonlinearity, split.

    Notes
    -----
    Coefficient (i, j) is :math:`g_{ij} s_i s_j (F_i F_j)^\alpha`, :math:`g` random,
    :math:`s = \sqrt{ab/(a+b)}` and F the share of the items in the folder that a function splits; for
    the constant function :math:`s = \sqrt n`, F = 1. So the mixed differences of means are of size
    :math:`(F_i F_j)^\alpha`.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> f = haar_series(pair, pair, 0.3, coefficients="signs")
    >>> round(abs(f[0, 0] - f[0, 1] - f[1, 0] + f[1, 1]), 12), round(abs(f.mean()), 12)
    (np.float64(1.0), np.float64(1.0))
    """
    require_choice("coefficients", coefficients, ("normal", "signs"))
    alpha, amplitude = require_real_number("alpha", alpha), require_real_number("amplitude", amplitude)
    marginals = require_real_number("marginals", marginals)
    rng = np.random.default_rng(require_seed(seed))
    shape = (require_tree(row_tree, "row_tree").n_items, require_tree(column_tree, "column_tree").n_items)
    require_memory(4 * 8 * shape[0] * shape[1], f"a series of shape {shape}", "Take smaller trees.")
    factors = rng.normal(size=shape) if coefficients == "normal" else rng.choice([-1.0, 1.0], size=shape)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.outer(_sizes(row_tree, alpha), _sizes(column_tree, alpha))
        sizes[0] *= marginals
        sizes[1:, 0] *= marginals
        series = amplitude * factors * sizes
    if not np.isfinite(series).all():
        raise SettingError(
            f"alpha, amplitude and marginals must leave the coefficients finite; found alpha={alpha:g}, "
            f"amplitude={amplitude:g}, marginals={marginals:g}. Choose smaller ones."
        )
    return inverse_haar_transform(series, {"query": row_tree, "key": column_tree})


def _sizes(tree: PartitionTree, alpha: float) -> FloatArray:
    system = haar_system(tree)
    a, b = system.positive_sizes, system.negative_sizes
    scale: FloatArray = np.sqrt(np.where(b > 0, a * b / (a + b), tree.n_items))
    share: FloatArray = (system.folder_sizes / tree.n_items) ** float(alpha)
    return scale * share
