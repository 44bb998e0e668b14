"""The size of a matrix in which rank collapse is stated."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import real_array
from haarbor.errors import ShapeError

__all__ = ["composite_norm"]


def composite_norm(matrix: object) -> float:
    r"""Root of the largest column sum times the largest row sum, of absolute values.

    Parameters
    ----------
    matrix : array_like of float, shape (n, m)

    Returns
    -------
    float

    Raises
    ------
    ShapeError
        If it is no matrix, or is empty.

    See Also
    --------
    haarbor.collapse.token_residual : Distance from being all the same.

    Notes
    -----
    :math:`\|A\|_{1,\infty} = \sqrt{\|A\|_1 \|A\|_\infty}`, with :math:`\|A\|_1` the largest sum of a column
    and :math:`\|A\|_\infty` that of a row (Dong, Cordonnier and Loukas 2021). It is submultiplicative, but
    no norm: the triangle inequality fails, as in the example, where both terms have size 2.

    Examples
    --------
    >>> composite_norm([[1, -2], [3, 4]])  # the root of 6 times 7
    6.48074069840786
    >>> column, row = np.zeros((4, 4)), np.zeros((4, 4))
    >>> column[:, 0], row[0] = 1, 1
    >>> composite_norm(column), composite_norm(row), round(composite_norm(column + row), 9)
    (2.0, 2.0, 5.0)
    """
    array = real_array(matrix, "the matrix")
    if array.ndim != 2 or not array.size:
        raise ShapeError(f"the matrix must have two axes and an entry; found shape {array.shape}. Pass one.")
    size = np.abs(array.astype(np.float64))
    # The roots first: the product of two large sums could overflow.
    return float(np.sqrt(size.sum(axis=0).max()) * np.sqrt(size.sum(axis=1).max()))
