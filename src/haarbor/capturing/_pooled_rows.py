"""Means of attention over blocks of neighbouring tokens, made from chunks of rows as they come."""

from __future__ import annotations

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray
from haarbor.store import StreamPlan, block_widths

__all__ = ["PooledRows", "pooled_mask"]


class PooledRows:
    r"""Sums of probabilities over blocks of ``pool`` x ``pool`` tokens, and in the end their means.

    The mean of a block is over the queries in it that are no padding, and over all its keys. Entries above
    the diagonal of a causal network, and others that are masked, are probabilities of 0 and count as such. So
    :math:`\sum_J w_J P_{IJ} = 1`, with the number :math:`w_J` of keys in each block, for every block of
    queries that is not all padding: what a query gives to the keys is what a block gives to the blocks.

    Parameters
    ----------
    sizes : StreamPlan
        With blocks; says how many tokens there are.
    n_heads : int
    rows : slice
        Blocks of queries that are summed here.
    """

    def __init__(self, sizes: StreamPlan, n_heads: int, rows: slice) -> None:
        self._pool, self._rows = sizes.pool, rows
        self._n_queries, self._n_keys = sizes.n_tokens
        self._key_widths = block_widths(self._n_keys, sizes.pool)
        self._sums = np.zeros((n_heads, rows.stop - rows.start, sizes.n_keys))

    @property
    def tokens(self) -> slice:
        """Queries in these blocks."""
        return slice(self._rows.start * self._pool, min(self._rows.stop * self._pool, self._n_queries))

    def add(self, heads: slice, queries: slice, weights: torch.Tensor, is_token: BoolArray) -> None:
        """Add the weights of some heads and queries.

        Parameters
        ----------
        heads, queries : slice
        weights : tensor, shape (heads, queries, keys)
        is_token : ndarray of bool, shape (queries,)
            False for padding, whose weights mean nothing.
        """
        whole = self._n_keys - self._n_keys % self._pool
        parts = []
        if whole:
            parts.append(
                weights[..., :whole].float().reshape(*weights.shape[:-1], -1, self._pool).sum(dim=-1)
            )
        if whole < self._n_keys:
            parts.append(weights[..., whole:].float().sum(dim=-1, keepdim=True))
        by_query = torch.cat(parts, dim=-1).double().cpu().numpy()
        blocks = np.arange(queries.start, queries.stop) // self._pool - self._rows.start
        kept = np.flatnonzero(is_token)
        for block in np.unique(blocks[kept]):
            inside = kept[blocks[kept] == block]
            self._sums[heads, block] += by_query[:, inside].sum(axis=1)

    def means(self, is_token: BoolArray) -> FloatArray:
        """Means of all blocks, float32; 0 for blocks of padding.

        Parameters
        ----------
        is_token : ndarray of bool, one for each of :attr:`tokens`
        """
        counts = np.add.reduceat(is_token.astype(np.int64), np.arange(0, is_token.size, self._pool))
        area = np.maximum(counts, 1)[:, None] * self._key_widths
        means: FloatArray = (self._sums / area).astype(np.float32)
        return means


def pooled_mask(mask: BoolArray, pool: int) -> BoolArray:
    """Blocks with at least one valid entry.

    Examples
    --------
    >>> pooled_mask(np.tri(5, dtype=bool), 2).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    n_queries, n_keys = mask.shape
    by_query = np.logical_or.reduceat(mask, np.arange(0, n_keys, pool), axis=1)
    blocks: BoolArray = np.logical_or.reduceat(by_query, np.arange(0, n_queries, pool), axis=0)
    return blocks
