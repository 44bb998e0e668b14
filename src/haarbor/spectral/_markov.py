"""Spectrum of the Markov chain of an affinity."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen, real_array
from haarbor.engines import ordered_results, usable_cores
from haarbor.errors import AffinityError
from haarbor.memory import require_memory
from haarbor.options import require_real_number, require_whole_number
from haarbor.spectral._leading_eigenpairs import leading_eigenpairs
from haarbor.spectral._symmetric_part import asymmetry, symmetric_part
from haarbor.stored_result import stored_result

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "MarkovSpectrum",
    "checked_affinity",
    "markov_spectrum",
    "require_own_affinity",
    "require_square",
    "require_symmetric",
    "settled_signs",
]

_AS_LARGE = 1e-9
"""Sizes that differ by less, relative to the largest, are the same but for rounding."""
_SMALLEST_AFFINITY = 1e-8
_SYMMETRY_TOL = 1e-8
_N_EIGENPAIRS = 12
# From this number of items on, the few leading eigenpairs are found sooner than all of them.
_MANY_ITEMS = 1000
# Rows of a matrix that are worked on at a time.
_ROWS = 64
# LAPACK adds in an order that depends on its number of threads, and trees are built on what it
# returns: it runs on one thread here. The limit is a setting of the whole process, hence the lock.
_BLAS_LIMIT = threading.Lock()


@stored_result("MarkovSpectrum")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarkovSpectrum:
    """Leading eigenpairs of the Markov chain on ``n`` items, the constant one first.

    See Also
    --------
    haarbor.markov_spectrum : Eigenpairs of an affinity.
    haarbor.diffusion_map : Coordinates from an affinity.
    """

    eigenvalues: FloatArray
    """Absolute values, decreasing, shape (k,); the first is 1."""
    eigenvectors: FloatArray
    """Column ``j`` belongs to ``eigenvalues[j]``, shape (n, k); the first column is all ones."""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.eigenvectors.shape[0])

    def diffusion_coordinates(self, time: float = 1.0) -> FloatArray:
        r"""Coordinates :math:`\lambda_j^t \psi_j(i)` for :math:`j \ge 2`, shape (n, k - 1)."""
        return self.eigenvectors[:, 1:] * self.eigenvalues[1:] ** require_real_number("time", time, least=0)


def markov_spectrum(affinity: npt.ArrayLike, n_eigenpairs: int | None = None) -> MarkovSpectrum:
    r"""Leading eigenpairs of the density-normalised Markov chain of an affinity.

    Parameters
    ----------
    affinity : array_like of float, shape (n, n)
        Symmetric, non-negative. Entries up to 1e-8 count as zero.
    n_eigenpairs : int, optional
        How many, the constant one included; by default ``min(12, n)``.

    Returns
    -------
    MarkovSpectrum

    Raises
    ------
    AffinityError
        If the matrix is not square, symmetric, finite and non-negative, or an item has no
        affinity at all.

    See Also
    --------
    haarbor.diffusion_map : Coordinates from an affinity.
    haarbor.flexible_tree : Bottom-up tree from diffusion distances.
    haarbor.distance_affinity : Affinity from distances.

    Notes
    -----
    With :math:`r` the row sums of :math:`W`, :math:`P = W/(r_i r_j)`, :math:`s` the roots of the row
    sums of :math:`P` and :math:`S = P/(s_i s_j)`, take the eigenpairs :math:`S u_j = \lambda_j u_j`
    largest in :math:`|\lambda|`; :math:`\psi_j = u_j/u_1`. The first eigenvector is known,
    :math:`u_1 \propto s`, and its eigenvalue is set apart before the rest is computed: so it is the
    constant one also when the affinity falls into several components and the eigenvalue 1 is
    repeated. Signs are fixed by making the entry of largest size positive, the first of several. Cost
    :math:`O(n^3)` up to a thousand items; beyond, usually :math:`O(n^2)` per eigenpair.

    Examples
    --------
    >>> spectrum = markov_spectrum([[1.0, 0.5], [0.5, 1.0]])
    >>> spectrum.eigenvalues.round(4).tolist()
    [1.0, 0.3333]
    >>> spectrum.eigenvectors.round(4).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    weights, smallest, largest, is_symmetric = _checked(affinity)
    n_items = weights.shape[0]
    wanted = min(_N_EIGENPAIRS, n_items)
    if n_eigenpairs is not None:
        wanted = require_whole_number("n_eigenpairs", n_eigenpairs, 1, n_items)
    exponent = max(0, int(np.frexp(largest)[1]) - 512)
    symmetric, first = _normalised(weights, exponent, is_symmetric=is_symmetric, smallest=smallest)
    values, vectors = _eigenpairs(symmetric, wanted)
    # eigh ascends, and negative eigenvalues count by size.
    order = np.argsort(-np.abs(values), kind="stable")[1:wanted]
    psi = vectors[:, order] / first[:, None]
    psi *= settled_signs(psi)
    return MarkovSpectrum(
        eigenvalues=frozen(np.concatenate([[1.0], np.abs(values[order])])),
        eigenvectors=frozen(np.column_stack([np.ones(n_items), psi])),
    )


def settled_signs(vectors: FloatArray) -> FloatArray:
    """1 or -1 for every column, so that times it the first of its largest entries is positive.

    Examples
    --------
    >>> settled_signs(np.array([[-0.5, 0.1], [0.5, -0.3]])).tolist()
    [-1.0, -1.0]
    """
    sizes = np.abs(vectors)
    # Entries that are as large but for rounding are as large: else rounding would choose the sign.
    first = np.argmax(sizes >= (1 - _AS_LARGE) * sizes.max(axis=0), axis=0)
    signs: FloatArray = np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return signs


def _normalised(
    affinity: FloatArray, exponent: int, *, is_symmetric: bool, smallest: float
) -> tuple[FloatArray, FloatArray]:
    """The symmetric matrix of the chain, its first eigenvalue raised to 2, and its first eigenvector.

    Some rows after the other, so that they stay in cache. The affinity is divided by two to the power of
    `exponent` first: the chain does not depend on its scale, and rows of very large numbers cannot be added.
    """
    n_items = affinity.shape[0]
    symmetric: FloatArray = np.empty((n_items, n_items))
    degree, squares = np.empty(n_items), np.empty(n_items)
    threads = usable_cores() if n_items >= _MANY_ITEMS else 1
    parts = [slice(first, first + _ROWS) for first in range(0, n_items, _ROWS)]
    as_it_is = smallest > _SMALLEST_AFFINITY and not exponent
    weights: FloatArray = affinity if as_it_is else np.empty((n_items, n_items))

    def add_rows(rows: slice) -> None:
        if not as_it_is:
            some = np.where(affinity[rows] > _SMALLEST_AFFINITY, affinity[rows], 0.0)
            weights[rows] = np.ldexp(some, -exponent) if exponent else some
        weights[rows].sum(axis=1, out=degree[rows])

    for _ in ordered_results(add_rows, parts, threads):
        pass
    if (degree == 0).any():
        raise AffinityError(
            f"every item needs a positive affinity to some item, itself included, and above 1e-08; item "
            f"{int(np.argmax(degree == 0))} has none. Put ones on the diagonal, or drop the item."
        )
    shares = 1.0 / degree

    def add_by_density(rows: slice) -> None:
        (weights[rows] * shares).sum(axis=1, out=squares[rows])

    for _ in ordered_results(add_by_density, parts, threads):
        pass
    scale = np.sqrt(squares * shares)
    shares /= scale
    first = scale / np.linalg.norm(scale)

    # Products of two numbers in any order are the same to the last bit: so is the matrix and its transpose.
    def by_both(rows: slice) -> None:
        here = symmetric[rows]
        np.multiply.outer(shares[rows], shares, out=here)
        here *= weights[rows]
        # Raising the first eigenvalue from 1 to 2 keeps it apart from others that are 1 as well.
        here += np.multiply.outer(first[rows], first)

    for _ in ordered_results(by_both, parts, threads):
        pass
    return symmetric if is_symmetric else symmetric_part(symmetric), first


def checked_affinity(affinity: npt.ArrayLike) -> FloatArray:
    """`affinity` as a float64 matrix after checking that it is one."""
    return _checked(affinity).matrix


class _Checked(NamedTuple):
    """An affinity, and what is known of it after the checks."""

    matrix: FloatArray
    smallest: float
    largest: float
    is_symmetric: bool
    """Whether it equals its transpose to the last bit."""


def _checked(affinity: npt.ArrayLike) -> _Checked:
    matrix = require_square(affinity, "affinity")
    # A comparison with NaN is false, so that this is true of usable numbers only.
    smallest, largest = float(matrix.min()), float(matrix.max())
    usable = smallest >= 0 and largest < np.inf
    if not usable and not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise AffinityError(
            f"affinity must be finite; entry ({row}, {column}) is {matrix[row, column]}. "
            "Drop such items, or correct them."
        )
    if not usable:
        row, column = np.argwhere(matrix < 0)[0]
        raise AffinityError(
            f"affinity must be non-negative; entry ({row}, {column}) is {matrix[row, column]:.3g}. "
            "Floor it at zero, or pass distances to distance_affinity."
        )
    gap = require_symmetric(matrix, "affinity", max(1.0, largest))
    return _Checked(matrix, smallest, largest, gap == 0)


def require_own_affinity(matrix: FloatArray) -> None:
    """Raise unless every item has an affinity to itself, so that any subset of items makes a chain too."""
    alone = np.diagonal(matrix) <= _SMALLEST_AFFINITY
    if alone.any():
        item = int(np.argmax(alone))
        raise AffinityError(
            f"affinity must be above {_SMALLEST_AFFINITY:g} on the diagonal for a binary tree; entry "
            f"({item}, {item}) is {matrix[item, item]:.3g}. Put ones on the diagonal."
        )


def require_square(given: npt.ArrayLike, name: str) -> FloatArray:
    """`given` as a float64 matrix with as many rows as columns; its values are not checked."""
    array = real_array(given, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise AffinityError(
            f"{name} must be a square matrix; found shape {array.shape}. "
            "Pass one row and one column per item."
        )
    require_memory(3 * 8 * array.size, f"{name} of {array.shape[0]} items", "Take fewer items.")
    # What float64 cannot hold becomes infinite, and is refused as that.
    with np.errstate(over="ignore"):
        return array.astype(np.float64, copy=False)


def require_symmetric(matrix: FloatArray, name: str, size: float) -> float:
    """Largest difference of a non-negative matrix to its transpose.

    Raises
    ------
    AffinityError
        If that is more than the rounding of numbers as large as `size`.
    """
    largest = asymmetry(matrix)
    if largest > _SYMMETRY_TOL * size:
        gap = np.abs(matrix - matrix.T)
        row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
        raise AffinityError(
            f"{name} must be symmetric; entries ({row}, {column}) and ({column}, {row}) differ by "
            f"{gap.max():.1e}. Average it with its transpose"
            + (", or pass distances." if name == "affinity" else ".")
        )
    return largest


@cache
def _blas() -> ThreadpoolController:
    # Cached, because finding the libraries takes longer than solving a small eigenproblem.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _eigenpairs(symmetric: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray]:
    """Eigenpairs in any order, among them those of largest size; more than `wanted` if that is quicker."""
    with _BLAS_LIMIT, _blas().limit(limits=1, user_api="blas"):
        if symmetric.shape[0] >= _MANY_ITEMS:
            leading = leading_eigenpairs(symmetric, wanted, usable_cores())
            if leading is not None:
                return leading
        return np.linalg.eigh(symmetric)
