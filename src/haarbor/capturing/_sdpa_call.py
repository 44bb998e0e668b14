"""A call of scaled_dot_product_attention, read as queries and keys and what their scores depend on."""

from __future__ import annotations

import torch

from haarbor.capturing._additive_mask import bias_and_mask
from haarbor.capturing._product_call import ProductCall

__all__ = ["sdpa_call", "with_four_axes"]


def sdpa_call(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> ProductCall:
    """What a call with these arguments, which are those of SDPA, computes its scores from.

    Parameters
    ----------
    query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        As of :func:`torch.nn.functional.scaled_dot_product_attention`.

    Returns
    -------
    ProductCall
    """
    del value, dropout_p, enable_gqa
    query, key = with_four_axes(query), with_four_axes(key)
    bias = None
    if attn_mask is not None:
        attn_mask = with_four_axes(attn_mask)
        if attn_mask.dtype != torch.bool:
            bias, attn_mask = bias_and_mask(attn_mask)
    return ProductCall(
        query=query,
        key=key,
        scaling=float(query.shape[-1] ** -0.5 if scale is None else scale),
        bias=bias,
        mask=attn_mask,
        softcap=None,
        sinks=None,
        causal=is_causal,
        in_float32=True,
    )


def with_four_axes(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with axes of one in front until it has four."""
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0)
    return tensor
