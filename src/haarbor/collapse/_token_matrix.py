"""Token matrices: what a network holds of one text or image after a layer, one row per token."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray, real_array
from haarbor.errors import DataError, ShapeError

__all__ = ["token_matrix"]


def token_matrix(given: object) -> tuple[FloatArray, int]:
    """`given` as float64 over a power of two, so that squares of its entries neither overflow nor vanish.

    Parameters
    ----------
    given : array_like of float, shape (n_tokens, width)

    Returns
    -------
    ndarray of float64, shape (n_tokens, width)
        Its largest entry is between 1/2 and 1 in size.
    int
        Exponent of the power of two.

    Raises
    ------
    ShapeError
        If it is no matrix, or is empty.
    DataError
        If an entry is not finite, or all are zero.
    """
    array = real_array(given, "the tokens")
    if array.ndim != 2 or not array.size:
        raise ShapeError(
            f"the tokens must be a matrix, one row per token; found shape {array.shape}. Pass one text at "
            "a time."
        )
    x: FloatArray = array.astype(np.float64)
    largest = float(np.abs(x).max())
    if not np.isfinite(largest):
        raise DataError(
            "the tokens must be finite; found NaN or infinity. Check the network that they come from."
        )
    if largest == 0:
        raise DataError(
            "the tokens must not all be zero, for nothing is relative to zero; found only zeros. Check the "
            "network that they come from."
        )
    exponent = int(np.frexp(largest)[1])
    scaled: FloatArray = np.ldexp(x, -exponent)
    return scaled, exponent
