"""What is left of the tokens when that is taken away which they all have in common."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.collapse._token_matrix import token_matrix
from haarbor.options import require_choice

__all__ = ["TokenResidual", "token_residual"]

ResidualNorm = Literal["composite", "frobenius"]

_STEPS = 5
"""Steps along the line between two candidates."""
_SWEEPS = 3
"""How often the search for two tokens far apart goes on from the one that it has found."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenResidual:
    """Distance of tokens from being all the same, relative to their size."""

    relative: float
    """Size of the residual over the size of the tokens: 0 where all tokens are the same."""
    least: float
    """No vector in common gives a smaller `relative` than this."""
    common: FloatArray
    """The vector taken from every token, shape (width,)."""
    norm: str
    """"composite" or "frobenius"."""

    def __repr__(self) -> str:
        return f"TokenResidual({self.norm} {self.relative:.3g}, at least {self.least:.3g})"


def token_residual(tokens: object, *, norm: ResidualNorm = "composite") -> TokenResidual:
    r"""Relative residual of tokens against the nearest matrix whose rows are all the same.

    Parameters
    ----------
    tokens : array_like of float, shape (n_tokens, width)
    norm : {"composite", "frobenius"}, default "composite"

    Returns
    -------
    TokenResidual

    Raises
    ------
    ShapeError
        If `tokens` is no matrix.
    DataError
        If `tokens` is not finite, or is zero.
    SettingError
        If the norm is not offered.

    See Also
    --------
    haarbor.collapse.composite_norm : The norm of the paper.
    haarbor.rank_collapse : The measures at every depth.

    Notes
    -----
    The residual is :math:`X - 1 x^T` with the :math:`x` that makes it smallest, and the relative one
    :math:`\|X - 1 x^T\| / \|X\|`. In the Frobenius norm :math:`x` is the mean of the tokens, exactly.

    In the composite norm the largest column sum is least at the median of each column, exactly, while the
    largest row sum has its least value elsewhere, and there is no formula for their product. The median,
    the mean, the middle of each column's range and points on the lines between them are tried, and the
    best is taken. Because the mean is among them, the result is never more than twice the minimum: a
    column's sum of distances from its mean is at most twice that from its median, and no token is farther
    from the mean than the widest pair of tokens from each other, which is at most twice the least
    largest row sum. How near it is here, `least` tells: the root of the least column sum times half the
    distance of two far tokens, below which nothing can be.

    Examples
    --------
    One coordinate and two tokens, 1 and 3: the middle is taken away, and of 1 and 3 there remain 1 and 1;
    the column sum falls from 4 to 2, the row sum from 3 to 1.

    >>> found = token_residual([[1.0], [3.0]])
    >>> round(found.relative**2, 6) == round(2 / 12, 6)
    True
    >>> token_residual([[1.0], [3.0]], norm="frobenius").relative == (2 / 10) ** 0.5
    True
    """
    require_choice("norm", norm, ("composite", "frobenius"))
    x, exponent = token_matrix(tokens)
    mean = x.mean(axis=0)
    if norm == "frobenius":
        relative = float(np.linalg.norm(x - mean) / np.linalg.norm(x))
        return TokenResidual(
            relative=relative, least=relative, common=frozen(np.ldexp(mean, exponent)), norm=norm
        )
    # One sort of each column gives all three, several times as fast as each by itself.
    ordered = np.sort(np.ascontiguousarray(x.T), axis=1)
    half = x.shape[0] // 2
    median = ordered[:, half] if x.shape[0] % 2 else (ordered[:, half - 1] + ordered[:, half]) / 2
    middle = (ordered[:, -1] + ordered[:, 0]) / 2
    ends = (median, mean, middle)
    candidates = [*ends]
    for one, two in combinations(ends, 2):
        candidates += [one + step / _STEPS * (two - one) for step in range(1, _STEPS)]
    room = np.empty_like(x)
    sizes = [_size(np.subtract(x, candidate, out=room), room) for candidate in candidates]
    best = int(np.argmin(sizes))
    whole = _size(x, room)
    columns = float(np.abs(x - median).sum(axis=0).max())
    least = float(np.sqrt(columns) * np.sqrt(_wide_pair(x, mean) / 2))
    # Rounding may put the bound a last digit above what was found, as where all tokens are the same.
    return TokenResidual(
        relative=sizes[best] / whole,
        least=min(least, sizes[best]) / whole,
        common=frozen(np.ldexp(candidates[best], exponent)),
        norm=norm,
    )


def _size(matrix: FloatArray, room: FloatArray) -> float:
    """Composite norm of a matrix, whose absolute values are written to `room`."""
    size = np.abs(matrix, out=room)
    return float(np.sqrt(size.sum(axis=0).max()) * np.sqrt(size.sum(axis=1).max()))


def _wide_pair(x: FloatArray, start: FloatArray) -> float:
    """Distance, summed over coordinates, of two tokens that are far apart; of the widest pair or less."""
    widest, place = 0.0, start
    for _ in range(_SWEEPS):
        distances = np.abs(x - place).sum(axis=1)
        far = int(distances.argmax())
        if place is not start:
            widest = max(widest, float(distances[far]))
        place = x[far]
    return widest
