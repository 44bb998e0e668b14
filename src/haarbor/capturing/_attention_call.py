"""One call of an attention layer: its queries and keys, and the scores and probabilities they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

__all__ = ["AttentionCall", "OnCall"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttentionCall:
    """Queries and keys of one attention layer, with everything that its scores depend on.

    Scores are ``cap(query key^T * scaling) + bias`` before the mask; probabilities are their softmax
    over the valid keys, with a learned sink in the denominator where the layer has one.
    """

    query: torch.Tensor
    """Shape (batch, head, query, width)."""
    key: torch.Tensor
    """Shape (batch, key-value head, key, width); each serves a group of neighbouring heads."""
    scaling: float
    bias: torch.Tensor | None
    """Additive position bias, broadcastable to (batch, head, query, key)."""
    mask: torch.Tensor | None
    """True where valid, or additive; broadcastable to (batch, head, query, key)."""
    softcap: float | None
    sinks: torch.Tensor | None
    """One extra score per head, which takes weight in the softmax and has no value; shape (head,)."""

    @property
    def n_heads(self) -> int:
        """Number of query heads."""
        return int(self.query.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query.shape[2])

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return int(self.key.shape[2])

    @property
    def head_group(self) -> int:
        """Query heads that share a key-value head."""
        return int(self.query.shape[1] // self.key.shape[1])

    def valid(self) -> torch.Tensor:
        """Entries that are not masked, bool, shape (batch, query, key); the union over heads."""
        batch = self.query.shape[0]
        shape = (batch, self.n_queries, self.n_keys)
        if self.mask is None:
            return torch.ones(shape, dtype=torch.bool, device=self.query.device)
        seen = self.mask if self.mask.dtype == torch.bool else self.mask > _closed(self.mask.dtype)
        return seen.any(dim=1).expand(shape)

    def head_chunks(self, most_bytes: int = 32 << 20) -> Iterator[slice]:
        """Runs of heads whose scores in float32 take at most `most_bytes`, one head at least."""
        step = max(1, most_bytes // (4 * self.query.shape[0] * self.n_queries * self.n_keys))
        for begin in range(0, self.n_heads, step):
            yield slice(begin, min(begin + step, self.n_heads))

    def logits(self, where: slice) -> torch.Tensor:
        """Scores of some heads before the mask, shape (batch, heads, query, key)."""
        shared = torch.arange(where.start, where.stop, device=self.key.device) // self.head_group
        key = self.key[:, shared]
        logits = torch.matmul(self.query[:, where], key.transpose(2, 3)) * self.scaling
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


OnCall = Callable[[str, torch.nn.Module, AttentionCall, torch.Tensor | None], None]
"""Function of (name of the module, module, call, probabilities or None), called once per attention call."""


def _closed(dtype: torch.dtype) -> float:
    # Where an entry is masked out, additive masks hold the most negative number, minus infinity or -10,000.
    return -1e4 if dtype == torch.float16 else -9999.0


def _of_heads(tensor: torch.Tensor, where: slice) -> torch.Tensor:
    return tensor if tensor.shape[1] == 1 else tensor[:, where]
