"""How much a ranking of heads depends on the batch it was made on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, IntArray, frozen, real_array
from haarbor.errors import DataError, ShapeError
from haarbor.memory import require_memory
from haarbor.options import require_real_number
from haarbor.stored_result import stored_result

__all__ = ["RankingStability", "ranking_stability"]


@stored_result("RankingStability")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RankingStability:
    """Agreement of the rankings of ``n_heads`` heads over ``n_batches`` batches.

    See Also
    --------
    haarbor.ranking_stability : Agreement of rankings over batches.
    haarbor.plots.stability_figure : Draws the agreement.
    """

    top_counts: IntArray
    """How many batches put each head in their top set, shape (n_heads,)."""
    bottom_counts: IntArray
    """How many batches put each head in their bottom set, shape (n_heads,)."""
    top_jaccard: FloatArray
    """Overlap of the top sets of every two batches, shape (n_batches, n_batches)."""
    bottom_jaccard: FloatArray
    """Overlap of the bottom sets of every two batches, shape (n_batches, n_batches)."""
    kendall_tau: FloatArray
    """Rank correlation of every two batches, shape (n_batches, n_batches); NaN where all scores tie."""
    set_size: int
    """Heads in each top and bottom set."""
    fraction: float

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return int(self.kendall_tau.shape[0])

    @property
    def mean_kendall_tau(self) -> float:
        """Mean over pairs of different batches; NaN for a single batch."""
        return _mean_over_pairs(self.kendall_tau)

    @property
    def mean_top_jaccard(self) -> float:
        """Mean over pairs of different batches; NaN for a single batch."""
        return _mean_over_pairs(self.top_jaccard)

    @property
    def mean_bottom_jaccard(self) -> float:
        """Mean over pairs of different batches; NaN for a single batch."""
        return _mean_over_pairs(self.bottom_jaccard)

    def __repr__(self) -> str:
        return (
            f"RankingStability({self.top_counts.size} heads, {self.n_batches} batches, "
            f"mean tau {self.mean_kendall_tau:.3f})"
        )


def ranking_stability(scores: npt.ArrayLike, fraction: float = 0.1) -> RankingStability:
    r"""Agreement of the head rankings of several batches.

    Each batch ranks the heads by score; its top set is the `fraction` of heads that score
    highest, its bottom set those that score lowest (rounded up, ties to the first head).

    Parameters
    ----------
    scores : array_like of float, shape (n_batches, n_heads)
    fraction : float, default 0.1
        Between 0 and 1.

    Returns
    -------
    RankingStability

    Raises
    ------
    ShapeError, DataError, SettingError
        If the scores are not a finite matrix or the fraction is not between 0 and 1.

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.plots.stability_figure : Draws the agreement.

    Notes
    -----
    Of two rankings of :math:`n` heads let :math:`a` pairs of heads stand in the same order and :math:`b` in
    opposite orders. Kendall's tau is :math:`(a - b) / \binom{n}{2}`, corrected for ties. Two sets of heads
    agree by :math:`|A \cap B| / |A \cup B|`.

    Examples
    --------
    >>> found = ranking_stability([[1, 2, 3, 4], [1, 3, 2, 4]], fraction=0.25)
    >>> found.top_counts.tolist(), found.bottom_counts.tolist()
    ([0, 0, 0, 2], [2, 0, 0, 0])
    >>> round(found.mean_kendall_tau, 4)
    0.6667
    """
    array = real_array(scores, "scores")
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(
            f"scores must have shape (n_batches, n_heads); found {array.shape}. Pass one row per batch."
        )
    require_memory(
        3 * 8 * array.shape[0] ** 2 + 3 * 8 * array.size,
        f"the agreement of {array.shape[0]} batches of {array.shape[1]} heads",
        "Compare fewer batches.",
    )
    # Numbers beyond float64 become infinite here, and are refused below.
    with np.errstate(over="ignore"):
        table: FloatArray = array.astype(np.float64, copy=False)
    if not np.isfinite(table).all():
        batch, head = np.argwhere(~np.isfinite(table))[0]
        raise DataError(
            f"scores must be finite; batch {batch}, head {head} is {table[batch, head]}. Leave that head out."
        )
    share = require_real_number("fraction", fraction, least=0, most=1, positive=True)
    n_heads = table.shape[1]
    # Slightly less, so that 0.1 * 130 is rounded up to 13 and not to 14.
    set_size = max(1, int(np.ceil(share * n_heads - 1e-9)))
    top = _membership(-table, set_size)
    bottom = _membership(table, set_size)
    return RankingStability(
        top_counts=frozen(top.sum(axis=0)),
        bottom_counts=frozen(bottom.sum(axis=0)),
        top_jaccard=frozen(_jaccard(top)),
        bottom_jaccard=frozen(_jaccard(bottom)),
        kendall_tau=frozen(_kendall_tau(table)),
        set_size=set_size,
        fraction=share,
    )


def _kendall_tau(table: FloatArray) -> FloatArray:
    """Kendall's tau-b between all pairs of rows; NaN where one of them is constant.

    Not that of scipy.stats, which takes longer to load than a batch to organise.

    Examples
    --------
    >>> _kendall_tau(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])).round(4).tolist()
    [[1.0, 0.3333], [0.3333, 1.0]]
    """
    n_rows, n_items = table.shape
    # Pairs in the same order less those in the other one; on the diagonal the pairs that are not tied.
    agreed = np.zeros((n_rows, n_rows))
    for item in range(1, n_items):
        # Whole numbers up to the number of items, which float32 multiplies and adds exactly.
        earlier, this = table[:, :item], table[:, item : item + 1]
        signs = (earlier > this).astype(np.float32) - (earlier < this)
        agreed += signs @ signs.T
    untied = np.sqrt(np.diagonal(agreed))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = agreed / untied[:, None] / untied[None, :]
    tau[untied == 0] = tau[:, untied == 0] = np.nan
    found: FloatArray = np.clip(tau, -1.0, 1.0)
    np.fill_diagonal(found, np.where(untied > 0, 1.0, np.nan))
    return found


def _membership(keys: FloatArray, set_size: int) -> IntArray:
    order = np.argsort(keys, axis=1, kind="stable")[:, :set_size]
    member = np.zeros(keys.shape, dtype=np.int64)
    np.put_along_axis(member, order, 1, axis=1)
    return member


def _jaccard(member: IntArray) -> FloatArray:
    shared = member @ member.T
    size = member.sum(axis=1)
    overlap: FloatArray = shared / (size[:, None] + size[None, :] - shared)
    return overlap


def _mean_over_pairs(matrix: FloatArray) -> float:
    pairs = matrix[np.triu_indices(matrix.shape[0], 1)]
    return float(pairs.mean()) if pairs.size else float("nan")
