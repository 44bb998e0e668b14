"""nn.MultiheadAttention with fewer heads than its width has room for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from haarbor.array_types import IntArray

__all__ = ["SmallerMultihead"]


class SmallerMultihead(nn.Module):
    """Replaces an ``nn.MultiheadAttention`` of which only some heads are left.

    It takes the same arguments and returns the same, so it works inside ``nn.TransformerEncoderLayer`` and
    ``nn.TransformerDecoderLayer``. Their fused fast path assumes the width of the whole network; setting
    ``_qkv_same_embed_dim`` to False, which the layer looks up, keeps them from using it.

    Parameters
    ----------
    whole : nn.MultiheadAttention or SmallerMultihead
        Its output projection is taken over as it is. One that was made smaller before is made smaller still.
    kept : ndarray of int
        Heads that stay.

    Notes
    -----
    The weights returned with ``need_weights`` are those of the heads that stay, averaged over them.
    """

    embed_dim: int
    head_dim: int
    whole_heads: int
    dropout: float
    batch_first: bool
    q_proj_weight: nn.Parameter
    k_proj_weight: nn.Parameter
    v_proj_weight: nn.Parameter
    in_proj_bias: nn.Parameter | None
    kept: torch.Tensor

    def __init__(self, whole: nn.MultiheadAttention | SmallerMultihead, kept: IntArray) -> None:
        super().__init__()
        self.embed_dim, self.head_dim = whole.embed_dim, whole.head_dim
        self.num_heads = int(kept.size)
        # Masks that differ from head to head are still those of all the heads that there were at first.
        self.whole_heads = whole.whole_heads if isinstance(whole, SmallerMultihead) else whole.num_heads
        self.dropout, self.batch_first = whole.dropout, whole.batch_first
        self._qkv_same_embed_dim = False
        places = whole.kept.cpu().numpy()[kept] if isinstance(whole, SmallerMultihead) else kept
        self.register_buffer("kept", torch.as_tensor(places.copy()), persistent=False)
        width = self.head_dim
        rows = (torch.as_tensor(kept)[:, None] * width + torch.arange(width)).reshape(-1)
        # Typed as always there by torch, which leaves out the first where keys have a width of their own.
        packed: Any = getattr(whole, "in_proj_weight", None)
        bias: Any = whole.in_proj_bias
        parts = (
            (whole.q_proj_weight, whole.k_proj_weight, whole.v_proj_weight)
            if packed is None
            else packed.chunk(3)
        )
        rows = rows.to(parts[0].device)
        self.q_proj_weight, self.k_proj_weight, self.v_proj_weight = (
            nn.Parameter(part.detach()[rows].clone(), requires_grad=part.requires_grad) for part in parts
        )
        if bias is None:
            self.register_parameter("in_proj_bias", None)
        else:
            kept_bias = torch.cat([part[rows] for part in bias.detach().chunk(3)])
            self.in_proj_bias = nn.Parameter(kept_bias, requires_grad=bias.requires_grad)
        self.out_proj: nn.Module = whole.out_proj

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: torch.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """What ``nn.MultiheadAttention`` would answer with the other heads switched off.

        Parameters
        ----------
        query, key, value : tensor, shape (token, width), or with a batch axis as `batch_first` says
        key_padding_mask : tensor, shape (batch, key), optional
        need_weights : bool, default True
        attn_mask : tensor, shape (query, key) or (batch * heads of the whole layer, query, key), optional
        average_attn_weights : bool, default True
        is_causal : bool, default False
            A hint that needs `attn_mask` beside it, as in the whole layer; the mask itself is used.

        Returns
        -------
        output : tensor, shape as `query`
        weights : tensor or None
        """
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.dim() == 3
        q, k, v = (part if batched else part.unsqueeze(0) for part in (query, key, value))
        if batched and not self.batch_first:
            q, k, v = (part.transpose(0, 1) for part in (q, k, v))
        if key_padding_mask is not None and not batched:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        biases = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        q, k, v = (
            self._heads(functional.linear(part, weight, bias))
            for part, weight, bias in zip((q, k, v), weights, biases, strict=True)
        )
        mask = self._mask(attn_mask, key_padding_mask, q)
        probabilities = None
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            scores = q @ k.transpose(-2, -1) * self.head_dim**-0.5
            probabilities = torch.softmax(scores if mask is None else scores + mask, dim=-1)
            probabilities = functional.dropout(probabilities, dropout)
            mixed = probabilities @ v
        else:
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        output: torch.Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))
        if batched and not self.batch_first:
            output = output.transpose(0, 1)
        if probabilities is not None and average_attn_weights:
            probabilities = probabilities.mean(dim=1)
        if not batched:
            output = output.squeeze(0)
            probabilities = None if probabilities is None else probabilities.squeeze(0)
        return output, probabilities

    def _heads(self, projected: torch.Tensor) -> torch.Tensor:
        batch, length, _ = projected.shape
        return projected.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(
        self, attn_mask: torch.Tensor | None, padding: torch.Tensor | None, query: torch.Tensor
    ) -> torch.Tensor | None:
        """Both masks as one that is added to the scores, shape (batch, head, query, key) or less."""
        if attn_mask is not None and attn_mask.dim() == 3:
            # One mask per head: those of the heads that are gone are left out.
            attn_mask = attn_mask.view(query.shape[0], self.whole_heads, *attn_mask.shape[1:])[:, self.kept]
        if padding is not None:
            padding = padding[:, None, None, :]
        found: torch.Tensor | None = None
        for mask in (attn_mask, padding):
            if mask is None:
                continue
            if mask.dtype == torch.bool:
                mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask, float("-inf"))
            found = mask.to(query) if found is None else found + mask.to(query)
        return found
