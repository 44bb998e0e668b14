"""A call of an attention layer whose scores were seen on their way into its softmax."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from haarbor.capturing._additive_mask import open_entries
from haarbor.capturing._attention_call import ALL_ROWS, AttentionCall

__all__ = ["SoftmaxCall", "softmax_call"]

# What attention modules call the number of their heads.
_HEAD_COUNTS = (
    "num_heads",
    "num_attention_heads",
    "n_heads",
    "n_head",
    "nhead",
    "heads",
    "num_attn_heads",
    "attention_heads",
)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SoftmaxCall(AttentionCall):
    """Scores and probabilities of a layer that computes its attention by itself.

    The layer has added its mask to the scores already. So scores of closed entries are not known; they
    are given as zero, and the mask says where they are.
    """

    scores: torch.Tensor
    """What the softmax was given, shape (group, head, query, key)."""
    weights: torch.Tensor
    """What it gave, same shape."""
    shared_by: int = 1
    """Query heads that share a key-value head, where that is known."""
    in_blocks: bool = False
    """Whether heads are those of several blocks of the sequence."""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Groups of tokens that attend apart from each other, heads, queries and keys."""
        groups, heads, queries, keys = self.scores.shape
        return groups, heads, queries, keys

    @property
    def is_whole(self) -> bool:
        """Whether queries and keys are those of the whole sample, not of a window or block of it."""
        return self.n_groups == 1 and not self.in_blocks

    @property
    def head_group(self) -> int:
        """Query heads that share a key-value head."""
        return self.shared_by

    def valid(self, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Entries of some queries that are not masked, bool, shape (group, query, key); of any head.

        Where a query sees no key in one head, and some in another, the softmax of the one gives all keys the
        same weight, and all its entries count: so blocks are padded whose heads stand beside each other.
        """
        seen = open_entries(self.scores[:, :, rows])
        sees_none = ~seen.any(dim=3)
        uneven = sees_none & ~sees_none.all(dim=1, keepdim=True)
        return (seen | uneven[..., None]).any(dim=1)

    def logits(self, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """Scores of some heads and queries, zero where masked, shape (group, heads, query, key)."""
        scores = self.scores[:, where, rows]
        return torch.where(open_entries(scores), scores, torch.zeros_like(scores))

    def probabilities(self, logits: torch.Tensor, where: slice, rows: slice = ALL_ROWS) -> torch.Tensor:
        """What the layer's own softmax gave for some heads and queries, in float32, same shape."""
        del logits
        return self.weights[:, where, rows].float()


def softmax_call(
    module: torch.nn.Module, scores: torch.Tensor, weights: torch.Tensor, n_groups: int = 1
) -> SoftmaxCall | None:
    """Read a softmax inside an attention module as attention of its heads.

    Parameters
    ----------
    module : torch.nn.Module
        Where it was computed; says how many heads there are.
    scores, weights : tensor
        What the softmax was given, and gave; over the last axis.
    n_groups : int, default 1
        Samples that run side by side, where heads and samples share an axis.

    Returns
    -------
    SoftmaxCall or None
        None if the axes are not those of attention as it is commonly computed: (head, query, key), (group,
        head, query, key), or with a second axis beside the heads, which is that of the heads that share
        a key-value head, or of blocks of the sequence; every block has heads of its own then.
    """
    n_heads = head_count(module)
    shared_by, in_blocks = 1, False
    shape = tuple(weights.shape)
    if weights.dim() == 3:
        groups = shape[0] // n_heads if n_heads and shape[0] % n_heads == 0 else n_groups
        heads = shape[0] // groups
    elif weights.dim() == 4:
        groups, heads = shape[:2]
    elif weights.dim() == 5:
        # Beside the heads stand those that share keys, or blocks of the sequence with heads of their own.
        groups, heads = shape[0], shape[1] * shape[2]
        shared_by = shape[2] if heads == n_heads else 1
        in_blocks = heads != n_heads
        n_heads = heads if n_heads in shape[1:3] else n_heads
    else:
        return None
    if groups * heads * shape[-2] * shape[-1] != weights.numel() or (n_heads and n_heads != heads):
        return None
    whole = (groups, heads, *shape[-2:])
    return SoftmaxCall(
        scores=scores.reshape(whole),
        weights=weights.reshape(whole),
        shared_by=shared_by,
        in_blocks=in_blocks,
    )


def head_count(module: torch.nn.Module) -> int | None:
    """Number of heads that an attention module says it has; None if it says nothing."""
    for name in _HEAD_COUNTS:
        count = getattr(module, name, None)
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            return count
    return None
