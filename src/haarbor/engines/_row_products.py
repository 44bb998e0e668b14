"""Inner products of rows, in the same way on every machine and for any number of threads."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray

__all__ = ["add_row_products", "add_sparse_products"]

# Rows with less than this share of entries other than zero are multiplied sooner entry by entry.
_SPARSE = 0.3


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


def add_sparse_products(rows: FloatArray, inner: FloatArray, overlap: FloatArray) -> bool:
    """Add products of rows to two matrices if most entries are zero; whether that was so.

    Parameters
    ----------
    rows : ndarray of float64, shape (n, d)
        C-contiguous and finite; not checked.
    inner : ndarray of float64, shape (n, n)
        Gets the inner products of rows i <= j.
    overlap : ndarray of float64, shape (n, n)
        Gets the sum of the squares of row i where row j is not zero.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[2.0, 0, 0, 0, 1], [3.0, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    >>> inner, overlap = np.zeros((3, 3)), np.zeros((3, 3))
    >>> add_sparse_products(rows, inner, overlap)
    True
    >>> inner[0].tolist(), overlap[0].tolist()
    ([5.0, 6.0, 1.0], [5.0, 4.0, 1.0])
    """
    from haarbor.engines._sparse_kernels import add_entries_products, column_counts, entries

    counts = column_counts(rows, 0, rows.shape[1])
    if counts.sum() >= _SPARSE * rows.size:
        return False
    columns = np.flatnonzero(counts)
    add_entries_products(entries(rows, columns, counts[columns]), inner, overlap)
    return True
