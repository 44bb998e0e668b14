"""Blocks of neighbouring tokens: how wide each is, and what it is called."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import IntArray

__all__ = ["block_labels", "block_widths"]


def block_widths(n_tokens: int, pool: int) -> IntArray:
    """Tokens in each block; the last one may have fewer than the others.

    See Also
    --------
    haarbor.store.block_labels : Positions of each block.

    Examples
    --------
    >>> block_widths(10, 4).tolist()
    [4, 4, 2]
    """
    begins = np.arange(0, n_tokens, pool)
    return np.minimum(pool, n_tokens - begins)


def block_labels(n_tokens: int, pool: int) -> tuple[str, ...]:
    """First and last position of each block; the position itself where a block is one token.

    See Also
    --------
    haarbor.store.block_widths : Tokens in each block.

    Examples
    --------
    >>> block_labels(9, 4), block_labels(2, 1)
    (('0-3', '4-7', '8'), ('0', '1'))
    """
    ends = np.cumsum(block_widths(n_tokens, pool)).tolist()
    begins = range(0, n_tokens, pool)
    return tuple(
        str(begin) if end == begin + 1 else f"{begin}-{end - 1}"
        for begin, end in zip(begins, ends, strict=True)
    )
