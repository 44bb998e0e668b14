"""Colour scales whose limits do not depend on a few extreme entries."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from haarbor.array_types import FloatArray
from haarbor.errors import DataError, SettingError
from haarbor.options import found_text

__all__ = ["Extend", "extend_of", "robust_norm"]

Extend = Literal["neither", "both", "min", "max"]


def robust_norm(
    values: FloatArray, quantiles: tuple[float, float], scale: Literal["linear", "log"] = "linear"
) -> Normalize:
    """Colour scale from one quantile of the finite `values` to another.

    Parameters
    ----------
    values : ndarray of float
        NaN counts as absent; on a logarithmic scale so does zero.
    quantiles : tuple of two floats
        Increasing, between 0 and 1.
    scale : {"linear", "log"}

    Returns
    -------
    matplotlib.colors.Normalize

    Raises
    ------
    SettingError
        If the quantiles are not increasing in 0..1, or the scale is another one.
    DataError
        If there is no value to take the limits from, or the scale is logarithmic and values are negative.
    """
    if scale not in ("linear", "log"):
        raise SettingError(f"scale must be 'linear' or 'log'; found {found_text(scale)}. Pass one of these.")
    if not _are_quantiles(quantiles):
        raise SettingError(
            f"quantiles must be two increasing numbers in 0..1; found {found_text(quantiles)}. "
            "Pass such as (0.01, 0.99)."
        )
    present = values[np.isfinite(values)]
    if scale == "log":
        if (present < 0).any():
            raise DataError(
                f"a logarithmic scale needs non-negative entries; found {present.min():.3g}. "
                "Use scale='linear' for logits."
            )
        present = present[present > 0]
    if not present.size:
        raise DataError(
            "there must be an entry to show; every entry is masked, NaN or zero."
            " Look at the mask and the values."
        )
    low, high = np.quantile(present, quantiles)
    if low == high:
        low, high = present.min(), present.max()
    if scale == "log":
        return LogNorm(low, high) if low < high else LogNorm(low / 2, high * 2)
    if low == high:
        half = max(abs(float(low)), 1e-12) / 2
        low, high = low - half, high + half
    return Normalize(float(low), float(high))


def _are_quantiles(quantiles: Any) -> bool:
    try:
        low, high = quantiles
        return bool(0 <= low < high <= 1)
    except (TypeError, ValueError):
        return False


def extend_of(values: FloatArray, norm: Normalize) -> Extend:
    """On which sides of a colour bar there are values beyond its ends, for its option ``extend``."""
    if norm.vmin is None or norm.vmax is None:
        return "neither"
    present = values[np.isfinite(values)]
    if isinstance(norm, LogNorm):
        present = present[present > 0]
    slack = 1e-9 * (norm.vmax - norm.vmin)
    below, above = bool((present < norm.vmin - slack).any()), bool((present > norm.vmax + slack).any())
    return "both" if below and above else "min" if below else "max" if above else "neither"
