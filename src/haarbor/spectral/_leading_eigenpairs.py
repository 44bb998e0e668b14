"""Leading eigenpairs of a large symmetric matrix, without solving for all of them."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray

__all__ = ["leading_eigenpairs"]

# Vectors of a block beyond the wanted ones: they make the wanted ones converge sooner.
_SPARE = 4
# Residues below this, relative to the largest eigenvalue, are as small as those of LAPACK.
_RESIDUE = 1e-15
# The basis is looked at when it has this many blocks. It is never larger than this share of the items:
# beyond, LAPACK is quicker.
_LOOKS = (8, 11, 13, 16, 20, 25, 30, 36, 43, 51, 60)
_LARGEST_SHARE = 0.4
_ORTHOGONAL = 1e-8
_MOST_PASSES = 6


def leading_eigenpairs(symmetric: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray] | None:
    r"""Eigenpairs of largest :math:`|\lambda|`, by a block Lanczos method.

    The same bits in every call, if the products of matrices are. A block is wider than the number of
    wanted pairs, so that repeated eigenvalues are found as often as they occur; a method that follows one
    vector can miss them.

    Parameters
    ----------
    symmetric : ndarray of float64, shape (n, n)
    wanted : int
        How many.

    Returns
    -------
    (values, vectors) or None
        Shapes (wanted,) and (n, wanted), largest :math:`|\lambda|` first. None if they do not converge
        in a basis much smaller than `n`: then solving for all eigenpairs is quicker.

    Notes
    -----
    The basis is :math:`A R, A^2 R, \dots` with a fixed random :math:`R`, each block made orthogonal to all
    earlier ones. Because it begins with :math:`A R`, equal rows of :math:`A` give equal entries. Cost
    :math:`O(n^2)` per vector of the basis.

    Examples
    --------
    >>> values, vectors = leading_eigenpairs(np.diag(2.0 ** -np.arange(200)), 2)
    >>> values.round(12).tolist(), np.abs(vectors[:3, 1]).round(12).tolist()
    ([1.0, 0.5], [0.0, 1.0, 0.0])
    """
    n_items = symmetric.shape[0]
    width = wanted + _SPARE
    largest = int(_LARGEST_SHARE * n_items) // width
    most = min(largest, _LOOKS[-1])
    if most < _LOOKS[0]:
        return None
    basis: FloatArray = np.empty((n_items, most * width), order="F")
    projected = np.zeros((most * width, most * width))
    start = symmetric @ np.random.default_rng(0).standard_normal((n_items, width))
    block = np.linalg.qr(start)[0]
    for step in range(most):
        begin, end = step * width, (step + 1) * width
        basis[:, begin:end] = block
        image = symmetric @ block
        coefficients = basis[:, :end].T @ image
        projected[:end, begin:end] = coefficients
        projected[begin:end, :end] = coefficients.T
        block, rest = _beyond(basis[:, :end], image - basis[:, :end] @ coefficients)
        # Nothing is left beyond the basis if the matrix has few eigenvalues other than zero.
        if step + 1 not in (*_LOOKS, most) and np.abs(rest).max() > _RESIDUE:
            continue
        values, combinations = np.linalg.eigh(projected[:end, :end])
        order = np.argsort(-np.abs(values), kind="stable")[:wanted]
        residues = np.linalg.norm(rest @ combinations[begin:end, order], axis=0)
        if residues.max() <= _RESIDUE * np.abs(values).max():
            return values[order], basis[:, :end] @ combinations[:, order]
    return None


def _beyond(basis: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns beyond the basis, and the coefficients of `rest` in them."""
    block, coefficients = np.linalg.qr(rest)
    # At least twice: what rounding leaves in the span of the basis is as large as a small rest itself.
    for _ in range(_MOST_PASSES):
        overlap = basis.T @ block
        block, change = np.linalg.qr(block - basis @ overlap)
        coefficients = change @ coefficients
        if np.abs(overlap).max() < _ORTHOGONAL:
            break
    return block, coefficients
