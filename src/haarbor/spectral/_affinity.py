"""Affinities between the slices of a tensor, and affinities made from distances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, real_array
from haarbor.binary_scale import excess_exponent, excess_exponents, scaled
from haarbor.engines import ordered_results, thread_count, usable_cores
from haarbor.errors import AffinityError, AffinityWarning
from haarbor.memory import require_memory
from haarbor.named_axes import axis_names, checked_tensor, n_axes_of
from haarbor.options import found_text, is_whole_number
from haarbor.spectral._entries_in_order import entries_in_order
from haarbor.spectral._markov import require_square, require_symmetric
from haarbor.spectral._slices import slice_blocks
from haarbor.spectral._symmetric_part import symmetric_part

__all__ = [
    "SMALL_SQUARES",
    "affinity_of_distances",
    "affinity_of_products",
    "cosine_affinity",
    "cosine_affinity_of_blocks",
    "distance_affinity",
    "gaussian_affinity",
    "kernel_of_distances",
]

_NEIGHBOURS = 5
# Rows of a matrix that are worked on at a time, by several threads if there are many.
_ROWS = 64
_SIDE = 128
_MANY_ITEMS = 1000
# A sum of squares below this has terms that are too small to be squared exactly.
SMALL_SQUARES = 2.0**-400


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

    See Also
    --------
    haarbor.gaussian_affinity : Affinity from a Gaussian kernel.
    haarbor.distance_affinity : Affinity from distances.
    haarbor.markov_spectrum : Eigenpairs of an affinity.

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
    workers = thread_count(threads)
    n_slices = tensor.shape[position]
    if excess_exponent(tensor):
        tensor = _with_ordinary_slices(tensor, position)
    inner, overlap = _products(slice_blocks(tensor, position), n_slices, has_nan, workers)
    if (np.diagonal(overlap) < SMALL_SQUARES).any():
        ordinary = _with_ordinary_slices(tensor, position)
        if ordinary is not tensor:
            inner, overlap = _products(slice_blocks(ordinary, position), n_slices, has_nan, workers)
    return affinity_of_products(inner, overlap)


def cosine_affinity_of_blocks(
    blocks: Sequence[Callable[[], FloatArray]], n_slices: int, threads: int
) -> FloatArray:
    """Mutual cosine between slices, as :func:`cosine_affinity` says, of a tensor that is read in blocks.

    Parameters
    ----------
    blocks : sequence of functions without arguments
        Each returns an array of shape (n_slices, n_steps, n_inner), finite and of ordinary size; over all of
        them every entry of a slice comes once. Entries that are zero for one of the last axis and not for
        another take longer.
    n_slices : int
    threads : int

    See Also
    --------
    haarbor.cosine_affinity : Affinity from cosines.
    """
    return affinity_of_products(*_products(blocks, n_slices, False, threads))


def affinity_of_products(inner: FloatArray, overlap: FloatArray) -> FloatArray:
    """Mutual cosine from inner products of slices, whose upper triangle counts, and from squared norms.

    ``overlap[i, j]`` is the squared norm of slice ``i`` over the entries that slice ``j`` has.

    See Also
    --------
    haarbor.cosine_affinity : Affinity from cosines.
    """
    n_slices = inner.shape[0]
    affinity: FloatArray = np.empty_like(inner)

    # Square by square, which stays in cache: those on the diagonal, and both sides of it at a time.
    def write(top: int) -> None:
        rows = slice(top, top + _SIDE)
        for left in range(0, top + 1, _SIDE):
            columns = slice(left, left + _SIDE)
            above = inner[columns, rows]
            if left == top:
                above = np.triu(above) + np.triu(above, 1).T
            norms = np.sqrt(overlap[columns, rows] * overlap[rows, columns].T)
            cosines = np.divide(above, norms, out=np.zeros_like(above), where=norms > 0)
            np.maximum(cosines, 0.0, out=cosines)
            affinity[columns, rows] = cosines
            affinity[rows, columns] = cosines.T

    threads = usable_cores() if n_slices >= _MANY_ITEMS else 1
    # The last strips are the longest.
    for _ in ordered_results(write, range(0, n_slices, _SIDE)[::-1], threads):
        pass
    empty = np.diagonal(overlap) == 0
    if empty.any():
        warnings.warn(
            f"{int(empty.sum())} of {n_slices} slices hold only zeros (first: {int(np.argmax(empty))}); "
            "they are taken as alike among themselves and unlike all others. Drop them if they are padding.",
            AffinityWarning,
            stacklevel=3,
        )
        affinity[np.ix_(empty, empty)] = 1.0
    return affinity


def _with_ordinary_slices(tensor: FloatArray, position: int) -> FloatArray:
    """The tensor with each slice of extreme size scaled to an ordinary one, which changes no cosine."""
    others = tuple(place for place in range(tensor.ndim) if place != position)
    exponents = excess_exponents(tensor, others)
    return scaled(tensor, exponents.reshape([-1 if place == position else 1 for place in range(tensor.ndim)]))


def _products(
    blocks: Sequence[Callable[[], FloatArray]], n_slices: int, has_nan: bool, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Inner products of slices i <= j, and sums of squares of slice i over the entries present in j."""
    from haarbor.engines import add_row_products, add_sparse_products
    from haarbor.spectral._presence_kernels import squares_by_presence

    def sums(form: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
        block = form().astype(np.float64, copy=False)
        if has_nan:
            block = np.nan_to_num(block)
        flat = block.reshape(n_slices, -1)
        inner = np.zeros((n_slices, n_slices))
        overlap = np.zeros((n_slices, n_slices))
        # Of a tensor, what is zero in one head is zero in all, and the sums below know that.
        if block.shape[2] == 1 and add_sparse_products(flat, inner, overlap):
            return inner, overlap
        add_row_products(flat, flat, True, inner)
        # Columns that are present in the same slices can be added before the product: under a
        # causal mask one column per key is left, whatever the number of heads.
        squares, present, alike = squares_by_presence(block)
        if not alike:
            squares, present = np.square(flat), (flat != 0).astype(np.float64)
        add_row_products(squares, present, False, overlap)
        return inner, overlap

    inner = np.zeros((n_slices, n_slices))
    overlap = np.zeros((n_slices, n_slices))
    for part, part_overlap in ordered_results(sums, blocks, threads):
        inner += part
        overlap += part_overlap
    return inner, overlap


def gaussian_affinity(
    X: npt.ArrayLike, axis: int | str = 0, *, axes: Sequence[str] | None = None, threads: int | None = None
) -> FloatArray:
    r"""Gaussian kernel between the slices of a tensor, with one bandwidth per slice.

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

    See Also
    --------
    haarbor.cosine_affinity : Affinity from cosines.
    haarbor.distance_affinity : Affinity from distances.
    haarbor.markov_spectrum : Eigenpairs of an affinity.

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
    workers = thread_count(threads)
    # float32 is squared in float64, which has room for all of it.
    exponent = excess_exponent(tensor) if tensor.dtype == np.float64 else 0
    tensor = scaled(tensor, exponent)

    def squares(form: Callable[[], FloatArray]) -> FloatArray:
        flat = form().reshape(n_slices, -1)
        pairs: FloatArray = pdist(flat.astype(np.float64, copy=False), "sqeuclidean")
        return pairs

    pairs = np.zeros(n_slices * (n_slices - 1) // 2)
    for part in ordered_results(squares, slice_blocks(tensor, position), workers):
        pairs += part
    distances: FloatArray = squareform(np.sqrt(pairs)) if n_slices > 1 else np.zeros((1, 1))
    return kernel_of_distances(distances, exponent)


def kernel_of_distances(distances: FloatArray, exponent: int = 0) -> FloatArray:
    """Gaussian kernel of the Euclidean distances ``distances * 2**exponent``.

    See Also
    --------
    haarbor.gaussian_affinity : Affinity from a Gaussian kernel.
    """
    nearest = np.sort(distances, axis=0)[:_NEIGHBOURS]
    bandwidth = np.median(nearest, axis=0)
    zero = bandwidth == 0
    bandwidth[zero] = 1.0
    ratios = np.square(distances) / np.square(bandwidth)[None, :]
    if exponent and zero.any():
        # The bandwidth 1 is in the units of the data.
        with np.errstate(over="ignore"):
            ratios[:, zero] = np.square(np.ldexp(distances[:, zero], exponent))
    kernel = np.exp(-ratios)
    symmetric: FloatArray = (kernel + kernel.T) / 2
    return symmetric


def distance_affinity(distances: npt.ArrayLike) -> FloatArray:
    r"""Affinity of a matrix of distances, :math:`\exp(-d / \operatorname{median}(d))`.

    The median is over all entries, the zero diagonal included; a zero median counts as 1.

    Parameters
    ----------
    distances : array_like of float, shape (n, n)
        Non-negative, symmetric up to rounding; what differs by that is averaged.

    Returns
    -------
    ndarray of float64, shape (n, n)
        Symmetric, between 0 and 1.

    Raises
    ------
    AffinityError
        If the matrix is not square and symmetric, or an entry is negative or not finite.

    See Also
    --------
    haarbor.tree_emd : Distances along trees.
    haarbor.markov_spectrum : Eigenpairs of an affinity.
    haarbor.cosine_affinity : Affinity from cosines.

    Examples
    --------
    >>> distance_affinity([[0.0, 2.0, 2.0], [2.0, 0.0, 4.0], [2.0, 4.0, 0.0]])[0].round(4).tolist()
    [1.0, 0.3679, 0.3679]
    """
    matrix = require_square(distances, "distances")
    usable = np.isfinite(matrix) & (matrix >= 0)
    if not usable.all():
        row, column = np.argwhere(~usable)[0]
        raise AffinityError(
            f"distances must be finite and non-negative; entry ({row}, {column}) is "
            f"{matrix[row, column]:.3g}. Pass a matrix of distances."
        )
    is_symmetric = require_symmetric(matrix, "distances", float(matrix.max())) == 0
    # A quarter of the largest numbers can be added in pairs; made any smaller, they would take what is
    # small beside them below the smallest numbers.
    exponent = min(excess_exponent(matrix), 2)
    return affinity_of_distances(scaled(matrix, exponent), exponent, is_symmetric=is_symmetric)


def affinity_of_distances(matrix: FloatArray, exponent: int = 0, *, is_symmetric: bool = False) -> FloatArray:
    """Affinity of the distances ``matrix * 2**exponent``, where `matrix` is far from overflow.

    With `is_symmetric` the matrix equals its transpose to the last bit; otherwise the two are averaged.

    See Also
    --------
    haarbor.distance_affinity : Affinity from distances.
    """
    distances = matrix if is_symmetric else symmetric_part(matrix)
    scale = _median_of_all(distances)
    affinity: FloatArray = np.empty_like(distances, order="C")

    # Some rows after the other, so that they stay in cache.
    def weigh(first: int) -> None:
        rows, given = affinity[first : first + _ROWS], distances[first : first + _ROWS]
        with np.errstate(over="ignore"):
            if scale > 0:
                np.divide(given, -scale, out=rows)
            else:
                # A zero median counts as 1 in the units of the distances.
                np.negative(np.ldexp(given, exponent), out=rows)
        np.exp(rows, out=rows)

    n_items = affinity.shape[0]
    threads = usable_cores() if n_items >= _MANY_ITEMS else 1
    for _ in ordered_results(weigh, range(0, n_items, _ROWS), threads):
        pass
    return affinity


def _median_of_all(symmetric: FloatArray) -> float:
    """Median of all entries of a symmetric matrix without negative ones.

    Examples
    --------
    >>> _median_of_all(np.array([[0.0, 2.0, 4.0], [2.0, 0.0, 5.0], [4.0, 5.0, 0.0]]))
    2.0
    """
    n_items = symmetric.shape[0]
    if n_items < 2 or np.diagonal(symmetric).any():
        return float(np.median(symmetric))
    # In order, the zeros of the diagonal come first, and then every other entry twice.
    places = [(place - n_items) // 2 for place in ((symmetric.size - 1) // 2, symmetric.size // 2)]
    found = entries_in_order(symmetric, [max(0, place) for place in places])
    low, high = (entry if place >= 0 else 0.0 for entry, place in zip(found, places, strict=True))
    return (low + high) / 2


def _slices_of(
    X: npt.ArrayLike, axis: int | str, axes: Sequence[str] | None, *, nan_is_missing: bool
) -> tuple[FloatArray, int, bool]:
    n_axes = n_axes_of(X)
    if axes is not None or isinstance(axis, str):
        names = axis_names(axes, n_axes)
    else:
        names = tuple(f"axis {position}" for position in range(n_axes))
    position = names.index(axis) if isinstance(axis, str) and axis in names else axis
    if not is_whole_number(position) or not -n_axes <= int(position) < n_axes:
        raise AffinityError(
            f"axis must be one of {names}; found {found_text(axis)}. Pass a name, or a position from "
            f"{-n_axes} to {n_axes - 1}."
        )
    place = int(position) % n_axes
    array = real_array(X)
    if array.ndim == n_axes:
        n_slices = array.shape[place]
        require_memory(
            16 * n_slices**2, f"the affinities of {n_slices} slices", "Compare fewer slices at a time."
        )
    tensor = checked_tensor(array, names, nan_is_missing=nan_is_missing)
    return tensor, place, nan_is_missing and bool(np.isnan(np.min(tensor)))
