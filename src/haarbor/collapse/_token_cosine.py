"""How alike the directions of the tokens are."""

from __future__ import annotations

import numpy as np

from haarbor.collapse._token_matrix import token_matrix
from haarbor.errors import DataError, ShapeError

__all__ = ["token_cosine"]


def token_cosine(tokens: object) -> float:
    r"""Mean cosine of all pairs of different tokens.

    Parameters
    ----------
    tokens : array_like of float, shape (n_tokens, width)
        Two or more tokens.

    Returns
    -------
    float
        1 where all tokens point the same way.

    Raises
    ------
    ShapeError
        If `tokens` is no matrix, or has a single row.
    DataError
        If `tokens` is not finite, or a token is zero, which has no direction.

    See Also
    --------
    haarbor.collapse.token_residual : Distance from being all the same.
    haarbor.collapse.effective_rank : Rank by entropy.

    Notes
    -----
    With :math:`s` the sum of the :math:`n` tokens scaled to length 1, it is
    :math:`(\|s\|^2 - n) / (n (n - 1))`, which takes time linear in :math:`n`.

    Examples
    --------
    Cosines 0, 0 and 1:

    >>> round(token_cosine([[1, 0], [0, 2], [0, 3]]), 12)
    0.333333333333
    """
    x, _ = token_matrix(tokens)
    n_tokens = x.shape[0]
    if n_tokens < 2:
        raise ShapeError("cosines are between two tokens or more; found one. Pass a longer text.")
    # Over its own largest entry first, or the square of a small token would vanish.
    largest = np.abs(x).max(axis=1, keepdims=True)
    if not largest.all():
        raise DataError(
            f"every token must have a direction; token {int(largest.argmin())} is zero. Leave it out."
        )
    x = x / largest
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    total = units.sum(axis=0)
    return float((total @ total - n_tokens) / (n_tokens * (n_tokens - 1)))
