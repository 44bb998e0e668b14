"""Inner products of rows, in the same way on every machine and for any number of threads."""

from __future__ import annotations

from haarbor.array_types import FloatArray

__all__ = ["add_row_products"]


def add_row_products(left: FloatArray, right: FloatArray, symmetric: bool, out: FloatArray) -> None:
    """Add the inner products of the rows of two matrices to a matrix.

    Parameters
    ----------
    left, right : ndarray of float64, shape (m, d) and (n, d)
        C-contiguous and finite; not checked.
    symmetric : bool
        Whether only the entries with row <= column are wanted.
    out : ndarray of float64, shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> out = np.zeros((1, 2))
    >>> add_row_products(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]), False, out)
    >>> out.tolist()
    [[11.0, 2.0]]
    """
    # The compiler is loaded with the first product, not with everything that can read a run.
    from haarbor.engines._pairwise_kernels import add_products

    add_products(left, right, symmetric, out)
