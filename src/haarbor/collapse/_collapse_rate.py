"""Whether a residual falls exponentially or doubly exponentially with depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, real_array
from haarbor.errors import DataError, ShapeError

__all__ = ["CollapseRate", "collapse_rate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollapseRate:
    """Lines through the logarithm, and through the double logarithm, of residuals by depth."""

    factor: float
    """Every layer multiplies the logarithm of the residual by this: 1 is no more than exponential, and 3
    the rate of the theorem."""
    doubly: float
    """Share of the variance of the double logarithm that its line explains."""
    singly: float
    """Share of the variance of the logarithm that its line explains: 1 where the fall is exponential."""
    n_layers: int
    """Layers that the lines go through."""


def collapse_rate(relative: object, *, floor: float = 0.0) -> CollapseRate:
    r"""How relative residuals fall with depth: a line through :math:`\log(-\log r_l)`.

    Parameters
    ----------
    relative : array_like of float, shape (n,)
        Relative residuals by depth.
    floor : float, default 0.0
        Below this there is rounding; the line ends before the first such residual.

    Returns
    -------
    CollapseRate

    Raises
    ------
    ShapeError, DataError
        If there are fewer than three residuals between the floor and 1.

    See Also
    --------
    haarbor.rank_collapse : The measures at every depth.

    Examples
    --------
    >>> rate = collapse_rate([1e-1, 1e-3, 1e-9, 1e-27])
    >>> round(rate.factor, 9), round(rate.doubly, 9), rate.singly < 0.9
    (3.0, 1.0, True)
    """
    array = real_array(relative, "the residuals").astype(np.float64)
    if array.ndim != 1:
        raise ShapeError(f"the residuals must be a row; found shape {array.shape}. Pass one per layer.")
    below = np.flatnonzero(~(array > floor) | ~np.isfinite(array))
    kept = array[: below[0]] if below.size else array
    places = np.flatnonzero(kept < 1)
    if places.size < 3:
        raise DataError(
            "there must be three residuals or more between the floor and 1 to fit a line; found "
            f"{places.size}. Pass more layers, or compute in float64."
        )
    logs = -np.log(kept[places])
    slope, doubly = _line(places.astype(np.float64), np.log(logs))
    return CollapseRate(
        factor=float(np.exp(slope)),
        doubly=doubly,
        singly=_line(places.astype(np.float64), logs)[1],
        n_layers=int(places.size),
    )


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope of the least-squares line, and the share of the variance that it explains."""
    dx, dy = x - x.mean(), y - y.mean()
    slope = float(dx @ dy / (dx @ dx))
    total = float(dy @ dy)
    return slope, 1.0 if total == 0 else float(slope * (dx @ dy) / total)
