"""One call of an attention layer, as it was seen: its scores and its probabilities, head by head."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import torch

__all__ = ["ALL_ROWS", "AttentionCall", "OnCall"]

ALL_ROWS = slice(None)


class AttentionCall(ABC):
    """What an attention layer computes in one call.

    There are two kinds: :class:`~haarbor.capturing._product_call.ProductCall` computes scores from
    queries and keys, :class:`~haarbor.capturing._softmax_call.SoftmaxCall` holds the scores that the
    layer itself gave to its softmax.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int]:
        """Groups of tokens that attend apart from each other, heads, queries and keys."""

    @property
    def n_groups(self) -> int:
        """Groups of tokens, such as windows or the pictures of a sample; 1 where all attend together."""
        return self.shape[0]

    @property
    def n_heads(self) -> int:
        """Number of query heads."""
        return self.shape[1]

    @property
    def n_queries(self) -> int:
        """Number of queries in a group."""
        return self.shape[2]

    @property
    def n_keys(self) -> int:
        """Number of keys in a group."""
        return self.shape[3]

    @property
    def is_whole(self) -> bool:
        """Whether queries and keys are those of the whole sample, not of a window or block of it."""
        return self.n_groups == 1

    @property
    def layer_shape(self) -> tuple[int, int, int]:
        """Heads, queries and keys of the layer in a run: the heads of every group are heads of their own."""
        return self.n_groups * self.n_heads, self.n_queries, self.n_keys

    @property
    @abstractmethod
    def head_group(self) -> int:
        """Query heads that share a key-value head."""

    @abstractmethod
    def valid(self, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Entries of some queries that are not masked, bool, shape (group, query, key); of any head."""

    @abstractmethod
    def logits(self, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Scores of some heads and queries before the mask, shape (group, heads, query, key)."""

    @abstractmethod
    def probabilities(self, logits: torch.Tensor, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Softmax of the scores of some heads and queries over their valid keys, in float32, same shape."""

    def head_chunks(self, most_bytes: int = 32 << 20) -> Iterator[slice]:
        """Runs of heads whose scores in float32 take at most `most_bytes`, one head at least."""
        step = max(1, most_bytes // max(1, 4 * self.n_groups * self.n_queries * self.n_keys))
        for begin in range(0, self.n_heads, step):
            yield slice(begin, min(begin + step, self.n_heads))

    def blocks(self, rows: slice = ALL_ROWS, most_bytes: int = 32 << 20) -> Iterator[tuple[slice, slice]]:
        """Heads and queries whose scores in float32 take at most `most_bytes`, one row at least.

        All queries of `rows` are taken together where they fit: only then is a head divided.
        """
        first, last, _ = rows.indices(self.n_queries)
        row_bytes = max(1, 4 * self.n_groups * self.n_keys)
        n_heads = max(1, most_bytes // (row_bytes * max(1, last - first)))
        n_rows = max(1, most_bytes // row_bytes)
        for head in range(0, self.n_heads, n_heads):
            for row in range(first, last, n_rows):
                yield slice(head, min(head + n_heads, self.n_heads)), slice(row, min(row + n_rows, last))


OnCall = Callable[[str, torch.nn.Module, AttentionCall, torch.Tensor | None], None]
"""Function of (name of the module, module, call, probabilities or None), called once per attention call."""
