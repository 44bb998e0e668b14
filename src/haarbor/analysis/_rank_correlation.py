"""Whether two measurements put the heads in the same order."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray

__all__ = ["rank_correlation"]


def rank_correlation(one: FloatArray, two: FloatArray, *, least: int = 3) -> float:
    r"""Spearman's rank correlation over the heads that have both values.

    Parameters
    ----------
    one, two : ndarray, shape (n_heads,)
        One value per head; NaN or infinite where a head has none.
    least : int, default 3
        Smallest number of heads for which the correlation is computed.

    Returns
    -------
    float
        NaN for fewer heads than `least`, or if `one` or `two` is the same for all of them.

    See Also
    --------
    haarbor.diagnostics.partial_rank_correlation : The same with a third held fixed.

    Notes
    -----
    The correlation of the ranks, :math:`\operatorname{cov}(R, S) / (\sigma_R \sigma_S)`.

    Examples
    --------
    >>> rank_correlation(np.array([1.0, 2.0, 4.0, np.nan]), np.array([0.1, 0.3, 0.2, 9.0]))
    0.5
    """
    present = np.isfinite(one) & np.isfinite(two)
    if present.sum() < least or np.ptp(one[present]) == 0 or np.ptp(two[present]) == 0:
        return float("nan")
    # Imported only where it is needed, because it is slow to import.
    from scipy.stats import spearmanr

    return float(spearmanr(one[present], two[present]).statistic)
