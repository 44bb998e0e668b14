"""Linear centred kernel alignment, without the bias of few samples, over batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, real_array
from haarbor.errors import DataError, ShapeError
from haarbor.options import is_row

__all__ = ["centred_kernel", "linear_cka", "unbiased_hsic"]

_LEAST_SAMPLES = 4


def centred_kernel(kernel: FloatArray) -> FloatArray:
    r"""A kernel of ``n`` samples, centred so that products of two of them are unbiased.

    Parameters
    ----------
    kernel : ndarray, shape (n, n)
        Symmetric; its diagonal is not looked at.

    Returns
    -------
    ndarray, shape (n, n)
        Every row sums to zero, and the diagonal is zero.

    Notes
    -----
    With the diagonal set to zero, row sums :math:`r_i` and total :math:`t`:
    :math:`k_{ij} - (r_i + r_j)/(n-2) + t/((n-1)(n-2))` off the diagonal (Székely and Rizzo 2014).
    """
    n = kernel.shape[0]
    hollow = np.array(kernel, dtype=np.float64)
    np.fill_diagonal(hollow, 0.0)
    rows = hollow.sum(axis=1) / (n - 2)
    centred: FloatArray = hollow - rows[:, None] - rows[None, :] + rows.sum() / (n - 1)
    np.fill_diagonal(centred, 0.0)
    return centred


def unbiased_hsic(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    r"""How far two kernels of the same samples go together; 0 on average for independent samples.

    Parameters
    ----------
    first, second : array_like of float, shape (n, n)
        Symmetric kernels, four samples or more.

    Returns
    -------
    float
        May be negative.

    See Also
    --------
    haarbor.compare.linear_cka : Alignment of representations.

    Notes
    -----
    The unbiased estimate of Song et al. (2012) of the Hilbert-Schmidt independence criterion: the product
    of the two centred kernels over :math:`n(n-3)`.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [0.0], [1.0], [2.0]])
    >>> round(unbiased_hsic(x @ x.T, x @ x.T), 4)
    0.3667
    """
    one, two = (_checked_kernel(kernel) for kernel in (first, second))
    if one.shape != two.shape:
        raise ShapeError(
            f"two kernels must be of the same samples; found {one.shape[0]} and {two.shape[0]}. "
            "Pass the same samples to both networks."
        )
    n = one.shape[0]
    return float((centred_kernel(one) * centred_kernel(two)).sum() / (n * (n - 3)))


def linear_cka(first: Any, second: Any) -> float:
    r"""Linear centred kernel alignment of two representations of the same samples.

    Parameters
    ----------
    first, second : array_like of float, shape (n, features), or list of such
        One row per sample, four rows or more. Of several batches, the terms of all batches are summed,
        and divided once.

    Returns
    -------
    float
        1 for representations that are the same up to rotation and scale, about 0 for independent ones,
        of which few samples may give a number below 0. NaN where a representation is constant.

    Raises
    ------
    ShapeError
        If the two have not the same batches of the same samples, or fewer than four samples.
    DataError
        If a number is not finite.

    See Also
    --------
    haarbor.compare.unbiased_hsic : What it is made of.

    Notes
    -----
    .. math:: \frac{\sum_b H(K_b, L_b)}{\sqrt{\sum_b H(K_b, K_b) \sum_b H(L_b, L_b)}}

    with :func:`unbiased_hsic` for :math:`H`, :math:`K = XX^\top`, :math:`L = YY^\top` (Kornblith et al.
    2019; over batches Nguyen et al. 2021). The usual, biased form says 0.2 for two independent noises of
    32 samples and 8 features, and more for more features.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [1.0, 1.0]])
    >>> round(linear_cka(x, 3 * x[:, ::-1]), 6)
    1.0
    """
    ones, twos = _batches(first), _batches(second)
    if len(ones) != len(twos):
        raise ShapeError(
            f"both representations must have the same batches; found {len(ones)} and {len(twos)}. "
            "Pass one matrix per batch for each."
        )
    both = own_first = own_second = 0.0
    for x, y in zip(ones, twos, strict=True):
        kernels = x @ x.T, y @ y.T
        both += unbiased_hsic(*kernels)
        own_first += unbiased_hsic(kernels[0], kernels[0])
        own_second += unbiased_hsic(kernels[1], kernels[1])
    if min(own_first, own_second) <= 0:
        return float("nan")
    return float(both / np.sqrt(own_first * own_second))


def _batches(given: Any) -> Sequence[FloatArray]:
    several = is_row(given) and len(given) and np.ndim(given[0]) == 2
    matrices = [real_array(matrix) for matrix in (given if several else [given])]
    for matrix in matrices:
        if matrix.ndim != 2:
            raise ShapeError(
                f"a representation must be samples x features; found shape {matrix.shape}. "
                "Pass one row per sample."
            )
        if not np.isfinite(matrix).all():
            raise DataError("a representation must be finite; found NaN or infinity. Leave those rows out.")
    return [matrix.astype(np.float64) for matrix in matrices]


def _checked_kernel(kernel: npt.ArrayLike) -> FloatArray:
    array = real_array(kernel)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] < _LEAST_SAMPLES:
        raise ShapeError(
            f"a kernel must be square, of {_LEAST_SAMPLES} samples or more; found shape {array.shape}. "
            "Pass more samples."
        )
    return array
