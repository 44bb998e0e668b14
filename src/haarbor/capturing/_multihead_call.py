"""A call of nn.MultiheadAttention, read as queries and keys and what their scores depend on."""

from __future__ import annotations

from typing import Any

import torch

from haarbor.capturing._additive_mask import bias_and_mask
from haarbor.capturing._product_call import ProductCall
from haarbor.capturing._sdpa_call import with_four_axes
from haarbor.errors import CaptureError

__all__ = ["multihead_call"]


def multihead_call(
    module: torch.nn.MultiheadAttention, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ProductCall:
    """What an ``nn.MultiheadAttention`` computes its scores from when it is called.

    Parameters
    ----------
    module : torch.nn.MultiheadAttention
    args : tuple
    kwargs : dict
        Arguments of its forward.

    Returns
    -------
    ProductCall

    Raises
    ------
    CaptureError
        If it attends to a key that is no token.
    """
    names = ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if module.bias_k is not None or module.add_zero_attn:
        raise CaptureError(
            "nn.MultiheadAttention with add_bias_kv or add_zero_attn attends to a key that is no token; "
            "such layers cannot be recorded. Build the model without these options."
        )
    query, key = given["query"], given["key"]
    batched = query.dim() == 3
    if not batched:
        query, key = query.unsqueeze(0), key.unsqueeze(0)
    elif not module.batch_first:
        query, key = query.transpose(0, 1), key.transpose(0, 1)
    packed: torch.Tensor | None = module.in_proj_weight
    if packed is not None:
        weight_q, weight_k, _ = packed.chunk(3)
    else:
        weight_q, weight_k = module.q_proj_weight, module.k_proj_weight
    bias_q, bias_k = (None, None) if module.in_proj_bias is None else module.in_proj_bias.chunk(3)[:2]
    linear = torch.nn.functional.linear
    heads = module.num_heads
    q = _split_heads(linear(query, weight_q, bias_q), heads)
    k = _split_heads(linear(key, weight_k, bias_k), heads)
    bias, mask = None, None
    attn_mask = given.get("attn_mask")
    if attn_mask is not None:
        if attn_mask.dim() == 3:
            attn_mask = attn_mask.view(q.shape[0], heads, *attn_mask.shape[1:])
        attn_mask = with_four_axes(attn_mask)
        # nn.MultiheadAttention marks closed entries True, SDPA open ones.
        bias, mask = (None, ~attn_mask) if attn_mask.dtype == torch.bool else bias_and_mask(attn_mask)
    padding = given.get("key_padding_mask")
    if padding is not None:
        padding = padding if batched else padding.unsqueeze(0)
        open_keys = ~padding if padding.dtype == torch.bool else padding == 0
        open_keys = open_keys[:, None, None, :]
        mask = open_keys if mask is None else mask & open_keys
    return ProductCall(
        query=q, key=k, scaling=float(q.shape[-1] ** -0.5), bias=bias, mask=mask, softcap=None, sinks=None
    )


def _split_heads(projected: torch.Tensor, heads: int) -> torch.Tensor:
    batch, length, width = projected.shape
    return projected.view(batch, length, heads, width // heads).transpose(1, 2)
