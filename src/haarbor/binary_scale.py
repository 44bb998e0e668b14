"""Numbers near the ends of the floating-point range, brought to ordinary size by a power of two.

Multiplying by a power of two changes no digit. So whatever is linear in the data, or does not depend
on its scale, has the same bits computed on the scaled array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError

__all__ = ["ORDINARY_EXPONENTS", "excess_exponent", "excess_exponents", "scaled", "unscaled"]

# Sizes of 2**-n to 2**n are ordinary: their squares, and sums and weighted sums of those, stay well
# within the range. float32 data is squared in float64, but summed in float32.
ORDINARY_EXPONENTS = {np.dtype(np.float32): 32, np.dtype(np.float64): 200}


def excess_exponent(array: FloatArray) -> int:
    """Exponent of the power of two that the largest entry is near; 0 if its size is ordinary.

    Parameters
    ----------
    array : ndarray of float32 or float64
        Finite; NaN is ignored.

    Examples
    --------
    >>> excess_exponent(np.array([3.0, -5.0])), excess_exponent(np.array([2.0**-900, 0.0]))
    (0, -899)
    """
    return int(excess_exponents(array, tuple(range(array.ndim))))


def excess_exponents(array: FloatArray, axes: tuple[int, ...]) -> IntArray:
    """Such an exponent for each part of an array; the maximum is taken over `axes`.

    Examples
    --------
    >>> excess_exponents(np.array([[1.0, 2.0], [2.0**-500, 0.0]]), (1,)).tolist()
    [0, -499]
    """
    # fmax and fmin ignore NaN, which stands for a missing entry.
    largest = np.maximum(
        np.fmax.reduce(array, axis=axes, initial=0), -np.fmin.reduce(array, axis=axes, initial=0)
    )
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.where((largest > 0) & (np.abs(exponents) > ORDINARY_EXPONENTS[array.dtype]), exponents, 0)


def scaled(array: FloatArray, exponent: int | IntArray) -> FloatArray:
    """`array` divided by two to the power `exponent`; the same object if the exponent is zero.

    Examples
    --------
    >>> scaled(np.array([2.0**900]), 900)
    array([1.])
    """
    if not np.any(exponent):
        return array
    smaller: FloatArray = np.ldexp(array, -np.asarray(exponent))
    return smaller


def unscaled(array: Any, exponent: int | IntArray, what: str) -> FloatArray:
    """`array` multiplied by two to the power `exponent`.

    Raises
    ------
    DataError
        If the result is too large for the type of the array.

    Examples
    --------
    >>> unscaled(np.array([1.5]), 10, "sums")
    array([1536.])
    """
    values: FloatArray = np.asarray(array)
    if np.any(exponent):
        with np.errstate(over="ignore"):
            values = np.ldexp(values, exponent)
    if not np.isfinite(values).all():
        largest = float(np.finfo(values.dtype).max)
        raise DataError(
            f"{what} must stay below {largest:.3g}, the largest number of {values.dtype}; the entries given "
            "are so large that they do not. Divide the array by a constant first."
        )
    return values
