"""A call of an attention function of transformers, read as queries and keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from haarbor.capturing._additive_mask import bias_and_mask
from haarbor.capturing._attention_interface import Mode
from haarbor.capturing._product_call import ProductCall

__all__ = ["interface_call"]


def interface_call(module: torch.nn.Module, given: Mapping[str, Any], mode: Mode) -> ProductCall:
    """What an attention function of transformers computes its scores from, by the conventions there.

    Functions of some models do more than the conventions say, so the result is to be checked.

    Parameters
    ----------
    module : torch.nn.Module
    given : mapping
        Arguments of the function by name: query, key, value, attention_mask, and its options.
    mode : {"faithful", "transparent"}

    Returns
    -------
    ProductCall
    """
    query, key, mask = given["query"], given["key"], given.get("attention_mask")
    scaling = given.get("scaling")
    if scaling is None:
        scaling = getattr(module, "scaling", None)
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    sinks = given.get("s_aux")
    if sinks is None:
        sinks = getattr(module, "sinks", None)
    causal = given.get("is_causal")
    if causal is None:
        causal = getattr(module, "is_causal", True)
    # Without a mask SDPA applies a causal one itself, aligned at the upper left corner.
    causal = mode == "transparent" and mask is None and bool(causal) and query.shape[2] > 1
    bias = given.get("position_bias")
    if isinstance(mask, torch.Tensor) and mask.is_floating_point():
        # Some models pass the position term of their scores inside the mask.
        term, opened = bias_and_mask(mask)
        if term is not None:
            bias, mask = (term if bias is None else bias + term), opened
    return ProductCall(
        query=query,
        key=key,
        scaling=float(scaling),
        bias=bias,
        mask=mask,
        softcap=given.get("softcap"),
        sinks=sinks,
        causal=causal,
        in_float32=mode == "transparent",
    )
