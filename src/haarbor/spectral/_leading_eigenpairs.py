"""Leading eigenpairs of a large symmetric matrix, without solving for all of them."""

from __future__ import annotations

import math

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.engines import ordered_results

__all__ = ["leading_eigenpairs"]

# A block has so many vectors beyond the wanted ones if these are few: a narrow one takes many steps. Where
# it is wide enough without them, they cost more than the steps that they save.
_SPARE = 4
_WIDE_ENOUGH = 12
# Residues below this, relative to the largest eigenvalue, are as small as those of LAPACK.
_RESIDUE = 1e-15
# The basis is looked at when it has this many blocks, and then when the residues of the last two looks say
# that they will be small enough, but not much later. It has at most so many blocks and is never larger than
# this share of the items: beyond, LAPACK is quicker.
_FIRST_LOOKS = (8, 11)
_LATER = 1.4
_MOST_BLOCKS = 60
_LARGEST_SHARE = 0.4
_ORTHOGONAL = 1e-8
_INDEPENDENT = 1e-3
_MOST_PASSES = 6
# Products take so many rows at a time.
_GROUP = 4


def leading_eigenpairs(
    symmetric: FloatArray, wanted: int, threads: int = 1
) -> tuple[FloatArray, FloatArray] | None:
    r"""Eigenpairs of largest :math:`|\lambda|`, by a block Lanczos method.

    The same bits in every call, if the products of matrices are. A block is at least as wide as the
    number of wanted pairs, so that repeated eigenvalues are found as often as they occur; a method that
    follows one vector can miss them.

    Parameters
    ----------
    symmetric : ndarray of float64, shape (n, n)
    wanted : int
        How many.
    threads : int, default 1
        The result does not depend on it.

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
    width = max(wanted, min(wanted + _SPARE, _WIDE_ENOUGH))
    most = min(int(_LARGEST_SHARE * n_items) // width, _MOST_BLOCKS)
    if most < _FIRST_LOOKS[0]:
        return None
    basis: FloatArray = np.empty((n_items, most * width), order="F")
    projected = np.zeros((most * width, most * width))
    start = _product(symmetric, np.random.default_rng(0).standard_normal((n_items, width)), threads)
    block = np.linalg.qr(start)[0]
    looks: list[tuple[int, float]] = []
    next_look = _FIRST_LOOKS[0]
    for step in range(most):
        begin, end = step * width, (step + 1) * width
        basis[:, begin:end] = block
        image = _product(symmetric, block, threads)
        nearest = slice(max(0, begin - width), end)
        coefficients, rest = _without(basis[:, :end], nearest, image, threads)
        projected[nearest, begin:end] = coefficients
        projected[begin:end, nearest] = coefficients.T
        block, rest = _beyond(basis[:, :end], rest)
        # Nothing is left beyond the basis if the matrix has few eigenvalues other than zero.
        if step + 1 not in (next_look, most) and np.abs(rest).max() > _RESIDUE:
            continue
        values, combinations = np.linalg.eigh(projected[:end, :end])
        order = np.argsort(-np.abs(values), kind="stable")[:wanted]
        residue = np.linalg.norm(rest @ combinations[begin:end, order], axis=0).max()
        size = np.abs(values).max()
        if residue <= _RESIDUE * size:
            return values[order], basis[:, :end] @ combinations[:, order]
        looks.append((step + 1, float(np.log(residue / (_RESIDUE * size)))))
        next_look = _next_look(looks)
    return None


def _next_look(looks: list[tuple[int, float]]) -> int:
    """Number of blocks with which the residues should be small enough.

    Parameters
    ----------
    looks : list of (number of blocks, logarithm of the residue over what is small enough)

    Examples
    --------
    >>> _next_look([(8, 12.0), (11, 4.5)])  # 2.5 for each block
    13
    """
    if len(looks) == 1:
        return _FIRST_LOOKS[1]
    (before, above), (now, left) = looks[-2:]
    fall = (above - left) / (now - before)
    latest = max(now + 1, int(_LATER * now))
    return min(latest, now + max(1, math.ceil(left / fall))) if fall > 0 else latest


def _product(symmetric: FloatArray, block: FloatArray, threads: int) -> FloatArray:
    """Product of the matrix with some vectors, part of its rows after the other."""
    from haarbor.engines import add_row_products

    n_items = symmetric.shape[0]
    out: FloatArray = np.zeros((n_items, block.shape[1]))
    by_vector = np.ascontiguousarray(block.T)
    # Every entry is summed by itself: where the rows are parted changes no bit.
    step = _GROUP * -(-n_items // (_GROUP * threads))

    def multiply(first: int) -> None:
        add_row_products(symmetric[first : first + step], by_vector, False, out[first : first + step])

    for _ in ordered_results(multiply, range(0, n_items, step), threads):
        pass
    return out


def _without(
    basis: FloatArray, nearest: slice, image: FloatArray, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of an image in the last blocks of the basis, and what it has beyond the whole basis."""
    width = image.shape[1]
    last = basis[:, nearest]
    coefficients: FloatArray = np.empty((last.shape[1], width))
    rest: FloatArray = np.empty(image.shape, order="F")

    def take_away(columns: slice) -> None:
        some = image[:, columns]
        coefficients[:, columns] = last.T @ some
        left = some - last @ coefficients[:, columns]
        # What earlier blocks hold of the image is rounding, and so is what is left in the last ones; but that
        # is as large as a small rest itself.
        rest[:, columns] = left - basis @ (basis.T @ left)

    # The same halves for any number of threads.
    half = -(-width // 2)
    for _ in ordered_results(take_away, [slice(0, half), slice(half, width)], threads):
        pass
    return coefficients, rest


def _beyond(basis: FloatArray, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns beyond the basis, and the coefficients of `rest` in them."""
    block, coefficients = np.linalg.qr(rest)
    sizes = np.abs(np.diagonal(coefficients))
    if sizes.min() > _INDEPENDENT * sizes.max():
        return block, coefficients
    # Columns that depend on each other leave little of some of them, and that is rounding in part.
    for _ in range(_MOST_PASSES):
        overlap = basis.T @ block
        block, change = np.linalg.qr(block - basis @ overlap)
        coefficients = change @ coefficients
        if np.abs(overlap).max() < _ORTHOGONAL:
            break
    return block, coefficients
