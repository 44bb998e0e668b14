"""A call of an attention layer whose scores are computed from its queries and keys."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from haarbor.capturing._additive_mask import open_entries
from haarbor.capturing._attention_call import ALL_ROWS, AttentionCall

__all__ = ["ProductCall"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ProductCall(AttentionCall):
    """Queries and keys of one attention layer, with everything that its scores depend on.

    Scores are ``cap(query key^T * scaling) + bias`` before the mask; probabilities are their softmax
    over the valid keys, with a learned sink in the denominator where the layer has one.
    """

    query: torch.Tensor
    """Shape (group, head, query, width)."""
    key: torch.Tensor
    """Shape (group, key-value head, key, width); each serves a group of neighbouring heads."""
    scaling: float
    bias: torch.Tensor | None
    """Additive position bias, broadcastable to (group, head, query, key)."""
    mask: torch.Tensor | None
    """True where valid, or additive; broadcastable to (group, head, query, key)."""
    softcap: float | None
    sinks: torch.Tensor | None
    """One extra score per head, which takes weight in the softmax and has no value; shape (head,)."""
    causal: bool = False
    """Whether a query sees the keys up to its own number only. A matrix that says so is never held whole."""
    in_float32: bool = False
    """Whether products are formed in float32 although the model works in half precision, as SDPA does."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Groups of tokens that attend apart from each other, heads, queries and keys."""
        groups, heads, queries, _ = self.query.shape
        return groups, heads, queries, int(self.key.shape[2])

    @property
    def head_group(self) -> int:
        """Query heads that share a key-value head."""
        return int(self.query.shape[1] // self.key.shape[1])

    def valid(self, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Entries of some queries that are not masked, bool, shape (group, query, key); of any head."""
        first, last, _ = rows.indices(self.n_queries)
        shape = (self.n_groups, last - first, self.n_keys)
        seen = torch.ones((), dtype=torch.bool, device=self.query.device)
        if self.causal:
            seen = self._causal_rows(rows)
        if self.mask is not None:
            seen = seen & open_entries(_part(self.mask, slice(None), rows)).any(dim=1)
        return seen.expand(shape)

    def _causal_rows(self, rows: slice) -> torch.Tensor:
        first, last, _ = rows.indices(self.n_queries)
        shape = (last - first, self.n_keys)
        return torch.ones(shape, dtype=torch.bool, device=self.query.device).tril(first)

    def logits(self, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Scores of some heads and queries before the mask, shape (group, heads, query, key)."""
        shared = torch.arange(where.start, where.stop, device=self.key.device) // self.head_group
        query, key = self.query[:, where, rows], self.key[:, shared]
        if self.in_float32:
            query, key = query.float(), key.float()
        logits = torch.matmul(query, key.transpose(2, 3)) * self.scaling
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        if self.bias is not None:
            logits = logits + _part(self.bias, where, rows)
        return logits

    def probabilities(self, logits: torch.Tensor, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Softmax of the scores of some heads and queries over their valid keys, in float32, same shape."""
        scores = logits
        if self.causal:
            scores = scores.masked_fill(~self._causal_rows(rows), torch.finfo(scores.dtype).min)
        if self.mask is not None:
            mask = _part(self.mask, where, rows)
            if mask.dtype == torch.bool:
                scores = scores.masked_fill(~mask, torch.finfo(logits.dtype).min)
            else:
                scores = scores + mask
        if self.sinks is not None:
            sink = self.sinks[where].to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
            with_sink = torch.softmax(torch.cat([scores, sink], dim=-1).float(), dim=-1)
            return with_sink[..., :-1]
        return torch.softmax(scores.float(), dim=-1)


def _part(tensor: torch.Tensor, where: slice, rows: slice) -> torch.Tensor:
    """Some heads and rows of what stands for all of them along an axis of one."""
    tensor = tensor if tensor.shape[1] == 1 else tensor[:, where]
    return tensor if tensor.shape[2] == 1 else tensor[:, :, rows]
