"""How many directions tokens use, by the singular values of their matrix."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray
from haarbor.collapse._token_matrix import token_matrix

__all__ = ["effective_rank", "ranks_of_spectrum", "stable_rank"]


def stable_rank(tokens: object) -> float:
    r"""Squared Frobenius norm over the squared largest singular value.

    Parameters
    ----------
    tokens : array_like of float, shape (n_tokens, width)

    Returns
    -------
    float
        Between 1 and the rank.

    Raises
    ------
    ShapeError, DataError
        If `tokens` is no matrix, not finite, or zero.

    See Also
    --------
    haarbor.collapse.effective_rank : Rank by entropy.
    haarbor.collapse.token_cosine : Mean cosine of tokens.

    Notes
    -----
    :math:`\sum_i \sigma_i^2 / \max_i \sigma_i^2`, over the singular values.

    Examples
    --------
    Singular values 2, 1 and 1:

    >>> stable_rank(np.diag([2.0, 1.0, 1.0]))
    1.5
    """
    return ranks_of_spectrum(_singular_values(tokens))[0]


def effective_rank(tokens: object) -> float:
    r"""Exponential of the entropy of the singular values, as shares of their sum (Roy and Vetterli 2007).

    Parameters
    ----------
    tokens : array_like of float, shape (n_tokens, width)

    Returns
    -------
    float
        Between 1 and the rank; the rank itself where all singular values are the same.

    Raises
    ------
    ShapeError, DataError
        If `tokens` is no matrix, not finite, or zero.

    See Also
    --------
    haarbor.collapse.stable_rank : Rank by energy.
    haarbor.collapse.token_cosine : Mean cosine of tokens.

    Notes
    -----
    :math:`\exp(-\sum_i p_i \log p_i)` with :math:`p_i = \sigma_i / \sum_j \sigma_j`, singular values and
    not their squares.

    Examples
    --------
    >>> round(effective_rank(np.eye(5)), 12)
    5.0
    """
    return ranks_of_spectrum(_singular_values(tokens))[1]


def ranks_of_spectrum(singular_values: FloatArray) -> tuple[float, float]:
    """Stable and effective rank of a matrix with these singular values, largest first."""
    shares = singular_values / singular_values.sum()
    present = shares[shares > 0]
    stable = float(np.sum((singular_values / singular_values[0]) ** 2))
    return stable, float(np.exp(-np.sum(present * np.log(present))))


def _singular_values(tokens: object) -> FloatArray:
    values: FloatArray = np.linalg.svd(token_matrix(tokens)[0], compute_uv=False)
    return values
