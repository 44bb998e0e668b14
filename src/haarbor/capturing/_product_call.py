"""A call of an attention layer whose scores are computed from its queries and keys."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from haarbor.capturing._additive_mask import open_entries
from haarbor.capturing._attention_call import AttentionCall

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

    def valid(self) -> torch.Tensor:
        """Entries that are not masked, bool, shape (group, query, key); the union over heads."""
        shape = (self.n_groups, self.n_queries, self.n_keys)
        if self.mask is None:
            return torch.ones((), dtype=torch.bool, device=self.query.device).expand(shape)
        return open_entries(self.mask).any(dim=1).expand(shape)

    def logits(self, where: slice) -> torch.Tensor:
        """Scores of some heads before the mask, shape (group, heads, query, key)."""
        shared = torch.arange(where.start, where.stop, device=self.key.device) // self.head_group
        query, key = self.query[:, where], self.key[:, shared]
        if self.in_float32:
            query, key = query.float(), key.float()
        logits = torch.matmul(query, key.transpose(2, 3)) * self.scaling
        if self.softcap is not None:
            logits = torch.tanh(logits / self.softcap) * self.softcap
        if self.bias is not None:
            logits = logits + _of_heads(self.bias, where)
        return logits

    def probabilities(self, logits: torch.Tensor, where: slice) -> torch.Tensor:
        """Softmax of the scores of some heads over their valid keys, in float32, same shape."""
        scores = logits
        if self.mask is not None:
            mask = _of_heads(self.mask, where)
            if mask.dtype == torch.bool:
                scores = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
            else:
                scores = logits + mask
        if self.sinks is not None:
            sink = self.sinks[where].to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
            with_sink = torch.softmax(torch.cat([scores, sink], dim=-1).float(), dim=-1)
            return with_sink[..., :-1]
        return torch.softmax(scores.float(), dim=-1)


def _of_heads(tensor: torch.Tensor, where: slice) -> torch.Tensor:
    return tensor if tensor.shape[1] == 1 else tensor[:, where]
