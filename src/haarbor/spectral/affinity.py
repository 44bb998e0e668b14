"""Affinities between the slices of a tensor, and from distances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray
from haarbor.engines.worker_threads import ordered_results, thread_count
from haarbor.errors import AffinityError, AffinityWarning
from haarbor.named_axes import axis_names, checked_tensor, n_axes_of
from haarbor.spectral.slices import slice_blocks

__all__ = ["cosine_affinity", "distance_affinity", "gaussian_affinity"]

_NEIGHBOURS = 5


def cosine_affinity(
    X: npt.ArrayLike, axis: int | str = 0, *, axes: Sequence[str] | None = None, threads: int | None = None
) -> FloatArray:
    r"""Mutual cosine between the slices of a tensor, floored at zero.

    Entries that are exactly 0 or NaN count as missing, and each pair of slices is compared over
    the entries present in both: under a causal mask two queries are compared over the keys both
    can see.

    Parameters
    ----------
    X : array_like of float, any number of axes
    axis : int or str, default 0
        Axis whose slices are compared, by position or name.
    axes : sequence of str, optional
        Axis names, needed for a named `axis` when the tensor is not (query, key[, head]).
    threads : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, between 0 and 1 up to rounding.

    Warns
    -----
    AffinityWarning
        If some slices hold nothing but missing entries. They are given affinity 1 among
        themselves and 0 to all others.

    Notes
    -----
    With :math:`v` the indicator of present entries,

    .. math:: G_{ij} = \max\Bigl(0, \frac{\langle x_i, x_j\rangle}
              {\sqrt{\langle x_i^2, v_j\rangle \langle v_i, x_j^2\rangle}}\Bigr),

    and 0 where two slices share no entry. With nothing missing this is the ordinary cosine.

    Examples
    --------
    >>> cosine_affinity([[1.0, 1.0, 0.0], [2.0, 2.0, 5.0], [-1.0, 1.0, 0.0]]).round(3).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    tensor, position, has_nan = _slices_of(X, axis, axes, nan_is_missing=True)
    from haarbor.engines.pairwise_kernels import add_products
    from haarbor.spectral.presence_kernels import squares_by_presence

    n_slices = tensor.shape[position]

    def sums(form: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
        block = form().astype(np.float64, copy=False)
        if has_nan:
            block = np.nan_to_num(block)
        flat = block.reshape(n_slices, -1)
        inner = np.zeros((n_slices, n_slices))
        overlap = np.zeros((n_slices, n_slices))
        add_products(flat, flat, True, inner)
        # Columns that are present in the same slices can be added before the product: under a
        # causal mask that leaves one column a key, whatever the number of heads.
        squares, present, alike = squares_by_presence(block)
        if not alike:
            squares, present = np.square(flat), (flat != 0).astype(np.float64)
        add_products(squares, present, False, overlap)
        return inner, overlap

    inner = np.zeros((n_slices, n_slices))
    overlap = np.zeros((n_slices, n_slices))
    for part, part_overlap in ordered_results(sums, slice_blocks(tensor, position), thread_count(threads)):
        inner += part
        overlap += part_overlap
    inner = np.triu(inner) + np.triu(inner, 1).T
    norms = np.sqrt(overlap * overlap.T)
    affinity = np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    np.maximum(affinity, 0.0, out=affinity)
    empty = np.diagonal(overlap) == 0
    if empty.any():
        warnings.warn(
            f"{int(empty.sum())} of {n_slices} slices hold only zeros (first: {int(np.argmax(empty))}); "
            "they are taken as alike among themselves and unlike all others. Drop them if they are padding.",
            AffinityWarning,
            stacklevel=2,
        )
        affinity[np.ix_(empty, empty)] = 1.0
    return affinity


def gaussian_affinity(
    X: npt.ArrayLike, axis: int | str = 0, *, axes: Sequence[str] | None = None, threads: int | None = None
) -> FloatArray:
    r"""Gaussian kernel between the slices of a tensor, each with a bandwidth of its own.

    Parameters
    ----------
    X : array_like of float, any number of axes
    axis : int or str, default 0
        Axis whose slices are compared, by position or name.
    axes : sequence of str, optional
        Axis names, as for :func:`cosine_affinity`.
    threads : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, 1 on the diagonal.

    Notes
    -----
    With :math:`D` the Euclidean distances and :math:`b_j` the median of the five smallest entries
    of column :math:`j` (the zero distance to itself is one of them; 1 where that median is 0),

    .. math:: G = (K + K^T)/2, \quad K_{ij} = \exp(-D_{ij}^2 / b_j^2).

    Examples
    --------
    >>> gaussian_affinity([[0.0], [1.0], [3.0]]).round(4).tolist()
    [[1.0, 0.3679, 0.0528], [0.3679, 1.0, 0.1931], [0.0528, 0.1931, 1.0]]
    """
    tensor, position, _ = _slices_of(X, axis, axes, nan_is_missing=False)
    from scipy.spatial.distance import pdist, squareform

    n_slices = tensor.shape[position]

    def squares(form: Callable[[], FloatArray]) -> FloatArray:
        flat = form().reshape(n_slices, -1)
        pairs: FloatArray = pdist(flat.astype(np.float64, copy=False), "sqeuclidean")
        return pairs

    pairs = np.zeros(n_slices * (n_slices - 1) // 2)
    for part in ordered_results(squares, slice_blocks(tensor, position), thread_count(threads)):
        pairs += part
    distances: FloatArray = squareform(np.sqrt(pairs)) if n_slices > 1 else np.zeros((1, 1))
    nearest = np.sort(distances, axis=0)[:_NEIGHBOURS]
    bandwidth = np.median(nearest, axis=0)
    bandwidth[bandwidth == 0] = 1.0
    kernel = np.exp(-np.square(distances) / np.square(bandwidth)[None, :])
    symmetric: FloatArray = (kernel + kernel.T) / 2
    return symmetric


def distance_affinity(distances: npt.ArrayLike) -> FloatArray:
    r"""Affinity of a matrix of distances, :math:`\exp(-d / \operatorname{median}(d))`.

    The median is over all entries, the zero diagonal included; a zero median counts as 1.

    Parameters
    ----------
    distances : array_like of float, shape (n, n)
        Symmetric, non-negative.

    Returns
    -------
    ndarray of float64, shape (n, n)

    Raises
    ------
    AffinityError
        If the matrix is not square, or an entry is negative or not finite.

    Examples
    --------
    >>> distance_affinity([[0.0, 2.0, 2.0], [2.0, 0.0, 4.0], [2.0, 4.0, 0.0]])[0].round(4).tolist()
    [1.0, 0.3679, 0.3679]
    """
    matrix: FloatArray = np.asarray(distances, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise AffinityError(f"distances must be a square matrix; found shape {matrix.shape}.")
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise AffinityError("distances must be finite and non-negative; pass a matrix of distances.")
    scale = float(np.median(matrix))
    affinity: FloatArray = np.exp(-matrix / (scale if scale > 0 else 1.0))
    return affinity


def _slices_of(
    X: npt.ArrayLike, axis: int | str, axes: Sequence[str] | None, *, nan_is_missing: bool
) -> tuple[FloatArray, int, bool]:
    n_axes = n_axes_of(X)
    if axes is not None or isinstance(axis, str):
        names = axis_names(axes, n_axes)
    else:
        names = tuple(f"axis {position}" for position in range(n_axes))
    position = names.index(axis) if isinstance(axis, str) and axis in names else axis
    if isinstance(position, str) or not -n_axes <= position < n_axes:
        raise AffinityError(f"axis must be one of {names}; found {axis!r}.")
    has_nan = nan_is_missing and _has_nan(X)
    present = ~np.isnan(np.asarray(X)) if has_nan else None
    return checked_tensor(X, names, valid=present), position % n_axes, has_nan


def _has_nan(X: npt.ArrayLike) -> bool:
    array = np.asarray(X)
    return array.dtype.kind == "f" and bool(np.isnan(np.min(array)) if array.size else False)
