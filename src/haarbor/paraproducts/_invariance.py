"""How close the softmax of a head is to its logits: a measurement of the claim of softmax invariance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.errors import DataError
from haarbor.options import require_seed
from haarbor.paraproducts._decomposition import MATRIX_AXES
from haarbor.paraproducts._folder_axis import FolderAxis
from haarbor.paraproducts._forms import Question
from haarbor.paraproducts._masked_softmax_pieces import MaskedSoftmaxPieces
from haarbor.paraproducts._nonlinearities import Nonlinearity
from haarbor.paraproducts._pointwise_pieces import PointwisePieces
from haarbor.paraproducts._softmax_pieces import SoftmaxPieces
from haarbor.trees import PartitionTree, row_and_column_trees

__all__ = ["InvarianceFigures", "SoftmaxInvariance", "softmax_invariance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvarianceFigures:
    """How well the forms explain the density of a softmax: 1 is perfect, 0 no better than a uniform one."""

    exact: float
    """Share explained by the corrected form with marginals; its constants are derivatives of the softmax."""
    paper: float
    """Share explained by the paper's form with the boundary terms added; may be negative."""
    paper_exp: float
    """As `paper`, with the constants of the paper's proof: exp of the log-density; may be negative."""
    invariance: float
    """R² of the best affine function of the form with all constants 1, as invariance would have it."""
    linear: float
    """R² of the best affine function of the row-centred logits, without any tree."""
    gap: float
    """`exact` minus `invariance`: the share that the constants explain."""
    constant_mean: float
    """Mean of the constants, as densities; under invariance all of them would be 1."""
    constant_deviation: float
    """Standard deviation of the constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxInvariance:
    """How invariant one head is to its softmax, with two controls.

    See Also
    --------
    haarbor.softmax_invariance : How nearly linear the softmax of a head is.
    """

    figures: InvarianceFigures
    shuffled_trees: InvarianceFigures
    """Figures on trees of the same shape, with rows and columns in random order."""
    shuffled_rows: InvarianceFigures
    """Figures with the valid logits of each row shuffled among themselves."""
    logit_deviation: float
    """Standard deviation of the valid logits about their row means."""
    n_rows: int
    """Number of rows with at least one valid entry."""
    n_valid: int
    """Number of valid entries."""
    seed: int

    @property
    def exact(self) -> float:
        """See :attr:`InvarianceFigures.exact`."""
        return self.figures.exact

    @property
    def paper(self) -> float:
        """See :attr:`InvarianceFigures.paper`."""
        return self.figures.paper

    @property
    def invariance(self) -> float:
        """See :attr:`InvarianceFigures.invariance`."""
        return self.figures.invariance

    @property
    def linear(self) -> float:
        """See :attr:`InvarianceFigures.linear`."""
        return self.figures.linear

    @property
    def gap(self) -> float:
        """See :attr:`InvarianceFigures.gap`."""
        return self.figures.gap

    def __repr__(self) -> str:
        f = self.figures
        return (
            f"SoftmaxInvariance(exact {f.exact:.3f}, invariance {f.invariance:.3f}, linear {f.linear:.3f}, "
            f"paper {f.paper:.3f}; logit deviation {self.logit_deviation:.2f})"
        )


def softmax_invariance(
    logits: npt.ArrayLike,
    row_tree: PartitionTree | None = None,
    column_tree: PartitionTree | None = None,
    mask: npt.ArrayLike | None = None,
    *,
    seed: int = 0,
    trees: Mapping[str, PartitionTree] | None = None,
) -> SoftmaxInvariance:
    r"""How much of the softmax of a head is explained by the paraproduct forms, and by the logits themselves.

    The paper concludes from its decomposition that attention is invariant to the softmax as mixed
    differences grow. It holds in the opposite limit, that of small logits; this function measures how
    nearly it holds for a given head.

    Parameters
    ----------
    logits : array_like of float, shape (n_queries, n_keys)
        Scaled scores before mask and softmax.
    row_tree, column_tree : PartitionTree
        Trees of queries and keys.
    mask : array_like of bool, shape (n_queries, n_keys), optional
        True where (query, key) is valid. Rows without a valid entry are left out.
    seed : int, default 0
        Seed of the shuffles.
    trees : mapping of axis name to PartitionTree, optional
        {"query": row tree, "key": column tree}, such as the trees of an Organization, in place of
        `row_tree` and `column_tree`.

    Returns
    -------
    SoftmaxInvariance

    Raises
    ------
    DataError
        If a valid logit is not finite, or the softmax of every row is uniform, so that there is nothing
        to explain.

    See Also
    --------
    haarbor.paraproduct : A nonlinearity, split.
    haarbor.analysis.run_invariance : Softmax invariance of every head of a run.
    haarbor.plots.paraproduct_figure : Draws the forms.

    Notes
    -----
    All figures are about the density :math:`D = n_i \operatorname{softmax}(f)`, :math:`n_i` the valid
    entries of row i, over valid entries; a form X explains
    :math:`1 - \|D - X\|^2 / \|D - 1\|^2`. The invariance form is
    :math:`\sum_{\ell s} w + x y`; its scale has no meaning, so the best affine function of it is
    used, and likewise for the logits.
    :math:`n_i \operatorname{softmax}(f) = 1 + (f - \bar f_i) + O(\mathrm{osc}^2)`.

    Examples
    --------
    >>> pair = PartitionTree([[0, 0], [0, 1]])
    >>> small = softmax_invariance([[0.01, -0.01], [-0.01, 0.02]], pair, pair)
    >>> round(small.figures.linear, 3), round(small.figures.exact, 3)
    (1.0, 1.0)
    """
    seed = require_seed(seed)
    row_tree, column_tree = pair = row_and_column_trees(row_tree, column_tree, trees)
    question = Question(logits, pair, MATRIX_AXES, "softmax", mask)
    f = question.f
    valid = np.ones(f.shape, dtype=bool) if question.valid is None else question.valid
    rng = np.random.default_rng(seed)
    orders = (rng.permutation(f.shape[0]), rng.permutation(f.shape[1]))
    shuffled = _shuffled_within_rows(f, valid, rng)
    centred = _row_centred(f, valid)
    # exp of a very negative number becomes zero, which is correct.
    with np.errstate(all="ignore"):
        figures = _figures(f, valid, row_tree, column_tree)
        shuffled_trees = _figures(f, valid, row_tree.permuted(orders[0]), column_tree.permuted(orders[1]))
        shuffled_rows = _figures(shuffled, valid, row_tree, column_tree)
    for found in (figures, shuffled_trees, shuffled_rows):
        if not np.isfinite(astuple(found)).all():
            raise DataError(
                "logits must be of a size at which the forms can be computed; they overflow, the largest is "
                f"{float(np.abs(f).max()):.3g}. Pass mask= for entries that are masked, or scale the logits."
            )
    return SoftmaxInvariance(
        figures=figures,
        shuffled_trees=shuffled_trees,
        shuffled_rows=shuffled_rows,
        logit_deviation=float(centred[valid].std()),
        n_rows=int(valid.any(axis=1).sum()),
        n_valid=int(valid.sum()),
        seed=seed,
    )


def _figures(
    f: FloatArray, valid: BoolArray, row_tree: PartitionTree, column_tree: PartitionTree
) -> InvarianceFigures:
    axes = (FolderAxis(row_tree), FolderAxis(column_tree))
    hidden = None if valid.all() else valid
    pieces = SoftmaxPieces(f, axes) if hidden is None else MaskedSoftmaxPieces(f, axes, hidden)
    counts = valid.sum(axis=1, keepdims=True)
    softmax = pieces.value()
    density = (counts * softmax)[valid]
    spread = float(((density - 1) ** 2).sum())
    # If all rows are uniform, only rounding errors would be explained.
    if spread <= 1e-24 * density.size:
        raise DataError(
            "the softmax of a head must differ from uniform; every row of it is uniform. Leave this head out."
        )

    def explained(form: FloatArray) -> float:
        return 1 - float(((density - form) ** 2).sum()) / spread

    pairs = pieces.linear((0, 1))
    corrected = (
        pieces.mean() + pieces.linear((0,)) + pieces.linear((1,)) - pairs + pieces.marginal((0,))
    ) + pieces.marginal((1,))
    paper = pieces.mean() + pieces.boundary((0,)) + pieces.boundary((1,)) + pairs
    # Probabilities of zero are replaced by the smallest normal number, so that their logarithm is finite.
    tiny = np.finfo(np.float64).tiny
    log_density = np.where(valid, np.log(np.maximum(counts * softmax, tiny)), 0.0)
    exponential = PointwisePieces(log_density, axes, _EXP, hidden)
    ones = PointwisePieces(f, axes, _CONSTANTS_ONE, hidden)
    paper_exp = exponential.mean() + exponential.boundary((0,)) + exponential.boundary((1,))
    exact = explained((counts * corrected)[valid])
    invariance = _affine_r2(density, ones.linear((0, 1))[valid])
    constants = pieces.constants()
    return InvarianceFigures(
        exact=exact,
        paper=explained((counts * paper)[valid]),
        paper_exp=explained((paper_exp + exponential.linear((0, 1)))[valid]),
        invariance=invariance,
        linear=_affine_r2(density, _row_centred(f, valid)[valid]),
        gap=exact - invariance,
        constant_mean=constants.mean,
        constant_deviation=constants.deviation,
    )


_EXP = Nonlinearity(name="exp", derivatives=(np.exp, np.exp, np.exp))
_CONSTANTS_ONE = Nonlinearity(
    name="constants one", derivatives=(np.ones_like, np.ones_like, np.ones_like)
)  # fmt: skip


def _affine_r2(target: FloatArray, form: FloatArray) -> float:
    """R² of the best affine function of `form`; 0 if `form` is constant."""
    form = scaled(form, excess_exponent(form))
    a, b = target - target.mean(), form - form.mean()
    # Sums and not dot products, because starting the threads of BLAS would cost more than the sum.
    norms = float(np.sum(a * a)) * float(np.sum(b * b))
    return float(np.sum(a * b)) ** 2 / norms if norms > 0 else 0.0


def _row_centred(f: FloatArray, valid: BoolArray) -> FloatArray:
    counts = np.maximum(valid.sum(axis=1, keepdims=True), 1)
    return np.where(valid, f - np.where(valid, f, 0.0).sum(axis=1, keepdims=True) / counts, 0.0)


def _shuffled_within_rows(f: FloatArray, valid: BoolArray, rng: np.random.Generator) -> FloatArray:
    # Sorting puts the valid entries of each row first, in random order, and masked ones last.
    random = rng.random(f.shape)
    source = np.argsort(np.where(valid, random, 2.0), axis=1)
    target = np.argsort(~valid, axis=1, kind="stable")
    shuffled = np.zeros_like(f)
    np.put_along_axis(shuffled, target, np.take_along_axis(f, source, axis=1), axis=1)
    return shuffled
